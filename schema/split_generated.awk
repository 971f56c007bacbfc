# Splits what flatc writes, a header only, into declarations and definitions: a third of the header
# is functions of the object API, and every file that names an event would compile them.
#   awk -v header=OUT.h -v source=OUT.cc -v include=schema/OUT.h -f split_generated.awk IN.h
BEGIN {
  printf "#include \"%s\"\n\nnamespace daybook {\nnamespace schema {\n\n", include > source
  out = header
}
/^inline bool operator==\(const [A-Za-z]+T &/ && out == header && !moved { out = source; moved = 1 }
/^inline const .*Get[A-Za-z]+\(const void/ { out = header }
out == source { sub(/^inline /, "") }
{ print > out }
END {
  print "}  // namespace schema\n}  // namespace daybook" > source
  if (!moved) { print "split_generated.awk: flatc writes another shape now" > "/dev/stderr"; exit 1 }
}
