# scripts/install-packages with made-up id, sudo, dpkg-query and apt-get: nothing is really installed.
. "$VPD_SOURCE/tests/cli/common"
install="$VPD_SOURCE/scripts/install-packages"
stubs="$folder/stubs"
mkdir "$stubs"
stub() { printf '#!/bin/sh\n%s\n' "$2" >"$stubs/$1"; chmod +x "$stubs/$1"; }
run() { env PATH="$stubs:$PATH" "$install" "$@"; }
every=$("$VPD_SOURCE/scripts/packages" build test)

stub apt-get "echo \"\$@\" >>'$folder/apt'"
stub dpkg-query 'true' # nothing is installed
stub apt-cache 'true'  # the lists are there
stub id 'echo 1000'
stub sudo 'exit 1'
expect 2 "" "sudo apt-get install --no-install-recommends gcc " run build
[ -e "$folder/apt" ] && fail "apt-get ran without leave"

stub sudo 'shift; exec "$@"'
expect 0 "" "installing: gcc" run build
grep -q "^install -y .* libhdf5-dev " "$folder/apt" || fail "apt-get install was not run by sudo: $(cat "$folder/apt")"

stub id 'echo 0'
stub sudo 'exit 1'
rm "$folder/apt"
expect 0 "" "installing" run build test
grep -q "libcmocka-dev" "$folder/apt" || fail "the test packages were not asked for"

# The lists of packages are brought up to date when the first try fails, and a second failure is one.
stub apt-get "echo \"\$1\" >>'$folder/apt'; [ \"\$1\" = update ]"
rm "$folder/apt"
run build >/dev/null 2>&1 && fail "a failed installation is a success"
[ "$(tr '\n' ' ' <"$folder/apt")" = "install update install " ] || fail "apt-get: $(tr '\n' ' ' <"$folder/apt")"
# Without lists they are fetched first, and no failed try frightens the user.
stub apt-cache 'exit 1'
stub apt-get "echo \"\$1\" >>'$folder/apt'"
rm "$folder/apt"
expect 0 "" "installing" run build
[ "$(tr '\n' ' ' <"$folder/apt")" = "update install " ] || fail "apt-get without lists: $(tr '\n' ' ' <"$folder/apt")"

# All there, one of them under another name that provides it: nothing happens.
rm "$folder/apt"
stub dpkg-query "cat '$folder/status'"
for package in $every; do
  [ "$package" = libjpeg-dev ] && echo "installed libjpeg62-turbo-dev, libjpeg-dev (= 2.1), other" || echo "installed $package, "
done >"$folder/status"
expect 0 "" "" run build test
[ -e "$folder/apt" ] && fail "apt-get ran although nothing is missing"
# A removed package that left its settings is missing.
sed -i 's/^installed zlib1g-dev/config-files zlib1g-dev/' "$folder/status"
stub apt-get "echo \"\$@\" >>'$folder/apt'"
expect 0 "" "installing: zlib1g-dev" run build test

expect 2 "" 'unknown task "everything"' run everything

# scripts/build: what starts with "-" is ninja's, not a preset, which would ask for the test packages too.
stub dpkg-query 'true'
stub id 'echo 1000'
build() { env -u VPD_NO_INSTALL PATH="$stubs:$PATH" "$VPD_SOURCE/scripts/build" "$@"; }
expect 2 "" "libgif-dev" build -j1
grep -q libcmocka "$folder/stderr" && fail "scripts/build -j1 asks for the packages of the tests"
expect 2 "" "libcmocka-dev" build asan
expect 2 "" 'no preset "everything"' build everything
# scripts/demo needs no test packages; nvcc, which is used where a GPU is, needs a C++ compiler.
expect 2 "" "libgif-dev" build demo
grep -q libcmocka "$folder/stderr" && fail "scripts/build demo asks for the packages of the tests"
stub nvidia-smi 'true'
expect 2 "" " g++" build demo
finish
