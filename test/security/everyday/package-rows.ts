import { type Group, waitFor } from './table.ts'

const web: Group = {
  name: 'a web project',
  folder: 'ein Projekt mit Ümläuten 日本',
  files: {
    'package.json': JSON.stringify({
      ...{ name: 'web', version: '1.0.0', type: 'module', private: true, workspaces: ['packages/*'] },
      scripts: { build: 'node build.js', test: 'node --test', prepare: 'echo prepared' },
    }),
    '.gitignore': 'node_modules\ndist\n',
    'build.js':
      "import { mkdirSync, writeFileSync } from 'node:fs'\nmkdirSync('dist', { recursive: true })\nwriteFileSync('dist/out.js', 'built')\n",
    'test/one.test.js': "import test from 'node:test'\ntest('one', () => undefined)\n",
    'test/two.test.js':
      "import test from 'node:test'\nimport { Worker } from 'node:worker_threads'\nimport { once } from 'node:events'\ntest('two', async () => { await once(new Worker('process.exit(0)', { eval: true }), 'exit') })\n",
    'packages/tool/package.json': JSON.stringify({
      name: 'tool',
      version: '1.0.0',
      bin: 'cli.js',
      scripts: { hello: 'echo hello from tool' },
    }),
    'packages/tool/cli.js': "#!/usr/bin/env node\nconsole.log('tool ran')\n",
    'vendor/folder/package.json': JSON.stringify({ name: 'folder', version: '1.0.0' }),
    'vendor/packed/package.json': JSON.stringify({ name: 'packed', version: '1.0.0' }),
    'server.js':
      "import { createServer } from 'node:http'\nimport { writeFileSync } from 'node:fs'\nconst server = createServer((_, answer) => answer.end('hello from inside'))\nserver.listen(0, 'localhost', () => writeFileSync(process.argv[2], `http://localhost:${server.address().port}/`))\n",
    'watched.js': "console.log('version one')\n",
    'tsconfig.json': JSON.stringify({
      compilerOptions: { outDir: 'dist', types: [], strict: true, target: 'es2022' },
      files: ['typed.ts'],
    }),
    'typed.ts': 'export const answer: number = 42\n',
  },
  rows: [
    { name: 'npm pack', run: 'cd vendor/packed && npm pack --pack-destination ..', prints: /packed-1\.0\.0\.tgz/ },
    { name: 'npm install of a folder', run: 'npm install ./vendor/folder && npm ls folder', prints: /folder@1\.0\.0/ },
    {
      name: 'npm install of a tarball',
      run: 'npm install ./vendor/packed-1.0.0.tgz && npm ls packed',
      prints: /packed@1\.0\.0/,
    },
    {
      name: 'npm sees the registry of ~/.npmrc and not its token',
      run: 'npm config get registry | grep -c 127.0.0.1; cat ~/.npmrc',
      prints: /^1$/m,
      never: /npm-token/,
    },
    {
      name: 'npm install from a registry',
      run: 'npm install from-registry && node -p "require(\'from-registry\')"',
      prints: /it came from the registry/,
    },
    { name: 'npm ci', run: 'rm -rf node_modules && npm ci && npm ls', prints: /from-registry/ },
    { name: 'npm ci without a network, from the cache of the project', run: 'rm -rf node_modules && npm ci --offline' },
    { name: 'npm run build', run: 'npm run build && cat dist/out.js', prints: /built/ },
    { name: 'npm test, with several processes and a worker', run: 'npm test', prints: /pass 2/ },
    { name: 'npx of a program of the project', run: 'npx tool', prints: /tool ran/ },
    { name: 'npm run in workspaces', run: 'npm run hello --workspaces', prints: /hello from tool/ },
    {
      name: 'npm install -g into a folder of the home',
      run: 'npm install -g --prefix ~/.mine ./vendor/folder && ls ~/.mine/lib/node_modules',
      prints: /folder/,
    },
    { name: 'npm init', run: 'mkdir -p new && cd new && npm init -y && cat package.json', prints: /"version"/ },
    {
      name: 'npm version, which commits and tags',
      run: 'git add -A && git commit -qm packages && npm version patch && git tag',
      prints: /v1\.0\.1/,
    },
    {
      name: 'node --watch runs again when a file changes',
      run: `node --watch watched.js > "$TMPDIR/seen" 2>&1 & watcher=$!; ${waitFor('"$TMPDIR/seen"')}; sleep 0.5; echo "console.log('version two')" > watched.js; n=0; until grep -q 'version two' "$TMPDIR/seen" || [ $n -gt 100 ]; do n=$((n+1)); sleep 0.1; done; kill $watcher; cat "$TMPDIR/seen"`,
      prints: /version two/,
    },
    {
      name: 'a server on localhost, and curl',
      needs: ['curl'],
      run: `node server.js "$TMPDIR/url" & server=$!; ${waitFor('"$TMPDIR/url"')} && curl -sf "$(cat "$TMPDIR/url")"; code=$?; kill $server; exit $code`,
      prints: /hello from inside/,
    },
    {
      name: 'a server of the person outside, on 127.0.0.1',
      needs: ['curl'],
      run: 'curl -sf "$OUTSIDE/database"',
      prints: /rows of the person/,
    },
    { name: 'tsc', needs: ['tsc'], run: 'tsc -p . && cat dist/typed.js', prints: /answer = 42/ },
    { name: 'corepack', needs: ['corepack'], run: 'corepack --version', prints: /\d/ },
    { name: 'pnpm install', needs: ['pnpm'], run: 'cd new && pnpm install' },
    { name: 'yarn install', needs: ['yarn'], run: 'cd new && yarn install' },
    {
      name: 'chromium without a window',
      needs: ['chromium'],
      run: "chromium --headless --no-sandbox --disable-gpu --dump-dom 'data:text/html,<p id=x></p><script>x.textContent=6*7</script>' 2>/dev/null",
      prints: />42</,
    },
  ],
}

const python: Group = {
  name: 'a Python project',
  files: {
    'thing/__init__.py': 'def double(n):\n    return 2 * n\n',
    'test_thing.py':
      'import unittest\nfrom thing import double\n\nclass Doubles(unittest.TestCase):\n    def test_double(self):\n        self.assertEqual(double(21), 42)\n',
    'wheel.py':
      "import sys, zipfile\nname, folder = sys.argv[1:]\nwith zipfile.ZipFile(f'{folder}/{name}-1.0-py3-none-any.whl', 'w') as wheel:\n    wheel.writestr(f'{name}.py', 'answer = 42\\n')\n    info = f'{name}-1.0.dist-info'\n    wheel.writestr(f'{info}/METADATA', f'Metadata-Version: 2.1\\nName: {name}\\nVersion: 1.0\\n')\n    wheel.writestr(f'{info}/WHEEL', 'Wheel-Version: 1.0\\nGenerator: us\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')\n    wheel.writestr(f'{info}/RECORD', '')\n",
    'many.py':
      'from multiprocessing import Pool\nfrom thing import double\n\nif __name__ == "__main__":\n    with Pool(2) as pool:\n        print(sum(pool.map(double, range(10))))\n',
  },
  rows: [
    {
      name: 'python3 -m venv',
      needs: ['python3', 'python3:ensurepip'],
      run: 'python3 -m venv .venv && .venv/bin/python -c "import sys; print(sys.prefix)"',
      prints: /\.venv/,
    },
    {
      name: 'pip install of a wheel',
      needs: ['python3', 'python3:ensurepip'],
      run: 'mkdir -p wheels && python3 wheel.py local wheels && .venv/bin/pip install --no-index --find-links wheels local && .venv/bin/python -c "import local; print(local.answer)"',
      prints: /42/,
    },
    {
      name: 'pip install from an index on localhost',
      needs: ['python3', 'python3:ensurepip'],
      run: 'mkdir -p index/remote && python3 wheel.py remote index/remote && python3 -u -m http.server --bind 127.0.0.1 --directory index 0 > "$TMPDIR/log" 2>&1 & server=$!; n=0; until grep -q port "$TMPDIR/log" || [ $n -gt 100 ]; do n=$((n+1)); sleep 0.1; done; port=$(sed -n "s/.*port \\([0-9]*\\).*/\\1/p" "$TMPDIR/log"); .venv/bin/pip install --index-url "http://127.0.0.1:$port/" remote; code=$?; kill $server; exit $code',
      prints: /installed remote/,
    },
    { name: 'python3 -m unittest', needs: ['python3'], run: 'python3 -m unittest -v', prints: /OK/ },
    { name: 'pytest', needs: ['python3:pytest'], run: 'python3 -m pytest -q', prints: /1 passed/ },
    { name: 'multiprocessing, which uses /dev/shm', needs: ['python3'], run: 'python3 many.py', prints: /^90$/m },
    {
      name: 'python3 -m compileall',
      needs: ['python3'],
      run: 'python3 -m compileall -q thing && ls thing',
      prints: /__pycache__/,
    },
    {
      name: 'a database of Python’s own sqlite',
      needs: ['python3'],
      run: `python3 -c "import sqlite3; d = sqlite3.connect('x.db'); d.execute('create table t(a)'); d.execute('insert into t values (42)'); d.commit(); print(d.execute('select a from t').fetchall())"`,
      prints: /42/,
    },
    {
      name: 'uv venv',
      needs: ['uv'],
      run: 'uv venv .uv && uv pip install --offline --find-links wheels --no-index local',
    },
  ],
}

const compiled: Group = {
  name: 'compiled languages',
  files: {
    Makefile: 'all: one two\n%: %.c\n\tgcc -g -o $@ $<\n',
    'one.c': '#include <stdio.h>\nint main(void) { puts("one ran"); return 0; }\n',
    'two.c': '#include <stdio.h>\nint main(void) { puts("two ran"); return 0; }\n',
    'CMakeLists.txt':
      'cmake_minimum_required(VERSION 3.10)\nproject(sample C)\nenable_testing()\nadd_executable(one one.c)\nadd_test(NAME one COMMAND one)\n',
    'Hello.java': 'public class Hello { public static void main(String[] a) { System.out.println("java ran"); } }\n',
    'crate/Cargo.toml': '[package]\nname = "crate"\nversion = "0.1.0"\nedition = "2021"\n',
    'crate/src/lib.rs':
      'pub fn double(n: u32) -> u32 { 2 * n }\n#[test]\nfn doubles() { assert_eq!(double(21), 42) }\n',
    'go/go.mod': 'module sample\n\ngo 1.20\n',
    'go/main.go': 'package main\n\nimport "fmt"\n\nfunc main() { fmt.Println("go ran") }\n',
  },
  rows: [
    { name: 'make -j', needs: ['make', 'gcc'], run: 'make -j2 && ./one && ./two', prints: /two ran/ },
    {
      name: 'gcc with a sanitizer',
      needs: ['gcc'],
      run: 'gcc -fsanitize=address -o checked one.c && ./checked',
      prints: /one ran/,
    },
    {
      name: 'g++',
      needs: ['g++'],
      run: 'echo "#include <iostream>\nint main() { std::cout << 6 * 7; }" > x.cpp && g++ -o x x.cpp && ./x',
      prints: /42/,
    },
    {
      name: 'cmake, ninja and ctest',
      needs: ['cmake', 'ninja', 'gcc'],
      run: 'cmake -S . -B build -G Ninja && cmake --build build && ctest --test-dir build',
      prints: /100% tests passed/,
    },
    { name: 'gdb', needs: ['gdb', 'gcc'], run: 'gdb -batch -ex run -ex "info program" ./one', prints: /one ran/ },
    {
      name: 'strace',
      needs: ['strace', 'gcc'],
      run: 'strace -f -o trace ./one && grep -c write trace',
      prints: /one ran/,
    },
    { name: 'javac and java', needs: ['javac', 'java'], run: 'javac Hello.java && java Hello', prints: /java ran/ },
    { name: 'maven says what it is', needs: ['mvn'], run: 'mvn -v', prints: /Apache Maven/ },
    { name: 'cargo build', needs: ['cargo', 'gcc'], run: 'cd crate && cargo build --offline', prints: /Finished/ },
    { name: 'cargo test', needs: ['cargo', 'gcc'], run: 'cd crate && cargo test --offline', prints: /1 passed/ },
    { name: 'go run', needs: ['go'], run: 'cd go && go run .', prints: /go ran/ },
  ],
}

export const PACKAGES: Group[] = [web, python, compiled]
