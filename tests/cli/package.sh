# cpack's .deb: what is in it, that it names the libraries it needs, and that what is in it runs. Recipes for containers agree with it.
. "$VPD_SOURCE/tests/cli/common"
build=$(dirname "$VPD")
recipe=$VPD_SOURCE/packaging/vpd.def
version=$("$VPD" version | sed -n 's/^vpd //p')
grep -q "vpd_${version}_" "$recipe" || fail "packaging/vpd.def names another version than $version"
for package in $(sed -n 's/.*no-install-recommends \$(\/src\/scripts\/packages \([a-z]*\)).*/\1/p' "$recipe" "$VPD_SOURCE/packaging/Dockerfile"); do
  [ "$package" = build ] || fail "a recipe asks for the packages of $package"
done
for file in "$recipe" "$VPD_SOURCE/packaging/Dockerfile"; do # images of Debian leave docs out unless told
  grep -q -- '--path-include=/usr/share/doc/vpd/\*' "$file" || fail "$file leaves the docs out"
done
for file in data demo docs README.md CHANGELOG.md; do
  grep -qx "$file" "$VPD_SOURCE/.dockerignore" && fail ".dockerignore leaves $file out, which the package carries"
done

for tool in cpack dpkg-deb dpkg-shlibdeps; do command -v $tool >/dev/null || skip "no $tool (dpkg-dev)"; done
[ -f "$build/CPackConfig.cmake" ] || skip "$VPD is not in a build folder"
grep -q 'fsanitize' "$build/build.ninja" 2>/dev/null && skip "a build with sanitizers is not packaged"
[ -f "$build/libvpd.so" ] && [ -f "$build/man/vpd.1" ] || skip "the build is not complete"
cd "$folder" || exit 1
expect 0 "generated" "*" cpack --config "$build/CPackConfig.cmake" -B "$folder/made"
deb=$(find "$folder/made" -maxdepth 1 -name "vpd_${version}_*.deb")
[ -f "$deb" ] || { fail "no package was made: $(cat "$folder/stdout")"; finish; }
depends=$(dpkg-deb -f "$deb" Depends)
for library in libc6 libdnnl libhdf5 libyaml libjansson libpng libtiff libwebp libopenexr libgif zlib1g libgomp; do
  case $depends in *$library*) ;; *) fail "the package does not depend on $library: $depends" ;; esac
done
expect 0 "" "" dpkg-deb -x "$deb" "$folder/root"
expect 0 "$folder/root/usr/share/vpd" "" "$folder/root/usr/bin/vpd" version
for file in bin/vpd include/vpd.h lib/libvpd.so.0 share/man/man1/vpd.1 share/man/man1/vpd-train.1 share/doc/vpd/LICENSE share/doc/vpd/docs/install.md \
  share/vpd/data/mujoco_blocks_sample.h5 share/vpd/data/mujoco_blocks_more.h5 share/vpd/data/mujoco_blocks_demo.txt share/vpd/data/mujoco_pusher.h5 share/vpd/demo/carried.h5 share/vpd/demo/demo.yaml \
  share/bash-completion/completions/vpd share/zsh/vendor-completions/_vpd; do
  [ -e "$folder/root/usr/$file" ] || fail "the package lacks $file"
done
dpkg-deb -c "$deb" | awk '$2 != "root/root" || $1 !~ /^(drwxr-xr-x|lrwxrwxrwx|-rwxr-xr-x|-rw-r--r--)/' >"$folder/odd"
[ -s "$folder/odd" ] && fail "rights or owners: $(cat "$folder/odd")"
finish
