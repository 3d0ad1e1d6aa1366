import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isAsked, judge, misjudged, NONE } from './disk-project.ts'

// Ways in which tests and checks are silenced without a word in them: patterns, runners that say how tests end, and files that come first.

const write = (file_path: string, content: string) => isAsked(judge('Write', { file_path, content }))

test('a substitution is judged by the texts that its pattern finds: tests and comparisons that would be gone are asked about, other names are not', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        "sed -i -E 's/\\b(it|test)\\(/\\1.skip(/' tests/sum.test.ts",
        "sed -i 's/\\(it\\|describe\\)(/\\1.only(/' tests/*.test.ts",
        "sed -i 's/func Test/func test/' sum_test.go internal/*_test.go",
        "sed -i 's/def test_/def check_/' tests/*.py",
        "sed -i 's/@Test/\\/\\/ @Test/' tests/*Test.java",
        "sed -i '/expect(/d' tests/*.test.ts",
        "sed -i 's/^\\( *\\)expect/\\1\\/\\/ expect/' tests/*.test.ts",
        "sed -i 's/assert /pass # assert /' tests/test_*.py",
        "sed -i 's/.*expect(\\(.*\\)).*/void \\1/' tests/*.test.ts",
        "grep -rl 'expect(' tests | xargs sed -i 's/expect(.*$/expect(true).toBe(true)/'",
        "rg -l toBe tests | xargs sed -i 's/toBe(/not.toBe(/'",
        "sed -i 's/not\\.toBe(/toBe(/' tests/*.test.ts",
        "perl -pi -e 's/(it|test)\\(/$1.skip(/' tests/*.test.ts",
        "perl -pi -e 's/^\\s*#\\[(tokio::)?test\\]//' tests/*.rs",
        "find tests -name '*.ts' -exec sed -i -E 's/(it|test)\\(/x\\1(/' {} +",
      ],
      everyday: [
        "sed -i 's/getPrice/resolvePrice/' tests/*.test.ts",
        "sed -i 's/assertEquals(/assertEqual(/' tests/*.py",
        "sed -i -E 's/\\b(it)\\(/test(/' tests/*.test.ts",
        "sed -i -E 's/(it|test)\\.skip\\(/\\1(/' tests/*.test.ts",
        "sed -i 's/toBe(/toEqual(/' tests/*.test.ts",
        "sed -i 's/expect(res.status)/expect(res.statusCode)/' tests/*.test.ts",
        "sed -i 's/@Test/@ParameterizedTest/' tests/*Test.java",
        'sed -i \'s/describe("cart/describe("basket/\' tests/*.test.ts',
        "sed -i '/console.log/d' tests/*.test.ts",
        "perl -pi -e 's/assert\\.equal/assert.strictEqual/g' tests/*.ts",
        "rg -l 'assert\\(' src | xargs sed -i 's/assert(/invariant(/'",
        "sed -i 's/describe(/wrap(/' src/app.ts",
      ],
    }),
    NONE,
  )
})

test('code that a runner loads and that says itself how tests end is asked about, and a setup that prepares them is not', () => {
  for (const [path, text] of [
    [
      'conftest.py',
      'def pytest_runtest_makereport(item, call):\n    out = yield\n    out.get_result().outcome = "passed"\n',
    ],
    ['tests/conftest.py', 'def pytest_sessionfinish(session):\n    session.testsfailed = 0\n'],
    ['jest.setup.js', 'globalThis.expect = () => new Proxy({}, {})\n'],
    ['vitest.setup.ts', 'afterAll(() => {\n  process.exit(0)\n})\n'],
    ['tests/main_test.go', 'func TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(0)\n}\n'],
    ['spec/spec_helper.rb', 'at_exit { exit!(0) }\n'],
    ['tests/hooks.js', "afterEach(function () {\n  this.currentTest.state = 'passed'\n})\n"],
    ['src/setupTests.ts', 'global.expect = fake\n'],
    ['tests/conftest.py', 'def pytest_runtest_setup(item):\n    item.runtest = lambda: None\n'],
  ] as const)
    assert.equal(write(path, text), true, path)
  for (const [path, text] of [
    ['tests/conftest.py', '@pytest.fixture\ndef order():\n    return Order(status="paid")\n'],
    ['jest.setup.js', "global.fetch = jest.fn()\nprocess.env.TZ = 'UTC'\n"],
    ['tests/main_test.go', 'func TestMain(m *testing.M) {\n\tos.Exit(m.Run())\n}\n'],
    ['tests/smoke.js', 'server.close()\nprocess.exit(0)\n'],
    ['src/cli.ts', 'process.exit(0)\n'],
    ['src/task.ts', "task.status = 'passed'\n"],
    ['spec/spec_helper.rb', 'RSpec.configure do |config|\n  config.order = :random\nend\n'],
    ['tests/fixtures/cli.js', 'process.exit(0)\n'],
  ] as const)
    assert.equal(write(path, text), false, path)
  assert.deepEqual(
    misjudged({
      asked: [
        "cat >> tests/conftest.py <<'X'\ndef pytest_runtest_makereport(item, call):\n    out = yield\n    out.get_result().outcome = 'passed'\nX",
      ],
      everyday: ["cat >> tests/conftest.py <<'X'\n@pytest.fixture\ndef n():\n    return 1\nX"],
    }),
    NONE,
  )
})

test('a new file before which a tool takes no other is asked about where it takes the place of one', () => {
  for (const [path, text] of [
    ['GNUmakefile', 'build:\n\tgo build\n'],
    ['again/makefile', 'build:\n\tgo build\n'],
    ['configured/pytest.ini', '[pytest]\n'],
    ['configured/mypy.ini', '[mypy]\n'],
    ['configured/.ruff.toml', 'line-length = 100\n'],
    ['configured/compose.yaml', 'services:\n  db:\n    image: postgres:16\n'],
    ['configured/vitest.config.ts', 'export default {}\n'],
    ['configured/jest.config.js', 'module.exports = {}\n'],
  ] as const)
    assert.equal(write(path, text), true, path)
  for (const [path, text] of [
    ['web/Makefile', 'build:\n\tgo build\n'],
    ['web/pytest.ini', '[pytest]\n'],
    ['web/mypy.ini', '[mypy]\n'],
    ['web/vitest.config.ts', 'export default {}\n'],
    ['web/jest.config.js', 'module.exports = {}\n'],
    ['web/compose.yaml', 'services:\n  db:\n    image: postgres:16\n'],
  ] as const)
    assert.equal(write(path, text), false, path)
  assert.deepEqual(
    misjudged({
      asked: [
        "printf 'test lint:\\n\\t@echo ok\\n' > GNUmakefile",
        'cp web/package.json GNUmakefile',
        'cp pytest.ini configured/',
      ],
      everyday: ["printf 'build:\\n\\tgo build\\n' > web/Makefile"],
    }),
    NONE,
  )
})

test('what checks the project is asked about where it is taken away, compared with next to nothing, or left out as a whole', () => {
  assert.deepEqual(
    misjudged({
      asked: [
        'npm uninstall husky lint-staged',
        'npm un @commitlint/cli',
        'pnpm remove eslint',
        'yarn remove jest',
        'composer remove phpunit/phpunit',
        'bundle remove rubocop',
        "sed -i 's/toEqual(.*)/toBeDefined()/' tests/*.test.ts",
        "sed -i 's/assert.equal(\\(.*\\), .*)/assert.ok(\\1 || true)/' tests/*.test.ts",
        "perl -pi -e 's/toStrictEqual\\(.*\\)/toBeTruthy()/' tests/*.test.ts",
        "sed -i 's/assertEqual(.*)/assertTrue(x)/' tests/*.py",
        "find tests -name '*.test.ts' -exec mv {} {}.bak \\;",
        "sed -i '1i exit 0' scripts/deploy.sh",
        "sed -i '2i exit' scripts/names.sh",
        'git checkout main -- package-lock.json src',
        'git checkout -- src/app.ts',
        'docker run --rm -p 0.0.0.0:80:80 -d proj:dev',
        'docker run --rm -e KEY=$X proj:dev',
        'docker run --rm -d -p 80:80 e.example/proj:dev',
      ],
      everyday: [
        'npm uninstall lodash',
        'pnpm remove express',
        "sed -i 's/toBe(\\(.*\\))/toEqual(\\1)/' tests/*.test.ts",
        "sed -i 's/assertEquals(/assertEqual(/' tests/*.py",
        "find src -name '*.jsx' -exec wc -l {} \\;",
        "sed -i '$a exit 0' scripts/names.sh",
        'git checkout main -- package-lock.json',
        'docker run --rm -p 3000:3000 -d --name web -e NODE_ENV=test proj:dev',
      ],
    }),
    NONE,
  )
  for (const [path, text] of [
    ['web/jest.config.cjs', 'module.exports = { testPathIgnorePatterns: [".*"] }\n'],
    ['web/vitest.config.ts', "export default { test: { exclude: ['**/*'] } }\n"],
    ['web/.eslintrc.json', '{ "ignorePatterns": ["**"] }\n'],
    ['web/ruff.toml', 'exclude = ["**"]\n'],
  ] as const)
    assert.equal(write(path, text), true, path)
  for (const [path, text] of [
    ['web/jest.config.cjs', 'module.exports = { testPathIgnorePatterns: ["/dist/"] }\n'],
    ['web/vitest.config.ts', "export default { test: { exclude: ['**/e2e/**'] } }\n"],
    ['web/ruff.toml', 'exclude = ["build"]\n'],
  ] as const)
    assert.equal(write(path, text), false, path)
})
