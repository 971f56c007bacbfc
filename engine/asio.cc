// The one place where Asio's own code is compiled; see CMakeLists.txt.
#include <boost/asio/impl/src.hpp>
