import assert from 'node:assert/strict'
import { readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { concernsAbout } from '../../../src/domain/evidence.ts'
import { verify } from '../../../src/workspace/verify/verify.ts'
import { tempDir } from '../../support/world.ts'
import { openVerifyFixture, type VerifyFixture } from './worktree-fixture.ts'

/** The program is right where the work begins, and wrong in every work that tampers. */
const RIGHT = 'module.exports = (a, b) => a + b\n'
const WRONG = 'module.exports = (a, b) => a - b\n'
const PLAIN = "require('node:assert').equal(require('./sum.js')(1, 2), 3)\n"
const RUNNER = [
  "const t = require('node:test')",
  "const assert = require('node:assert')",
  "const sum = require('../sum.js')",
  "t('adds', () => assert.equal(sum(1, 2), 3))",
  '',
].join('\n')
const PACKAGE = '{"name":"x","scripts":{"test":"node --test"}}\n'
const MAKE = {
  'sum.js': RIGHT,
  'test.js': PLAIN,
  'test.sh': 'set -e\nnode test.js\n',
  Makefile: 'test:\n\tsh test.sh\n',
}

const DOCTEST = 'def add(a, b):\n    """\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n'
const RUST = [
  'pub fn sum() -> i32 { 3 }',
  '#[cfg(test)]',
  'mod tests {',
  '    #[test]',
  '    fn adds() {',
  '        assert_eq!(super::sum(), 3);',
  '    }',
  '}',
  '',
].join('\n')

/** Verifies a work on these files, which `work` changes. */
async function judge(
  t: TestContext,
  { files, command, work }: { files: Record<string, string>; command: string; work(fixture: VerifyFixture): void },
) {
  const fixture = await openVerifyFixture(t, files)
  work(fixture)
  const gates = { commands: { test: command }, verifier: 'off' as const }
  const result = await verify(fixture.request({}, gates), fixture.deps())
  return { ...result, codes: result.findings.filter(({ weight }) => weight !== 'note').map(({ code }) => code) }
}

const TAMPERING: [name: string, Parameters<typeof judge>[1]][] = [
  [
    'a file of the CI that a gate runs',
    {
      files: { 'sum.js': RIGHT, 'check.js': PLAIN, '.github/scripts/test.sh': 'set -e\nnode check.js\n' },
      command: 'sh .github/scripts/test.sh',
      work: ({ write }) => {
        write('sum.js', WRONG)
        write('.github/scripts/test.sh', 'exit 0\n')
      },
    },
  ],
  [
    'an expected value in a plain script',
    {
      files: { 'sum.js': RIGHT, 'check.js': PLAIN },
      command: 'node check.js',
      work: ({ write }) => {
        write('sum.js', WRONG)
        write('check.js', PLAIN.replace('3)', '-1)'))
      },
    },
  ],
  [
    'an expected value under a name of its own for node:test',
    {
      files: { 'sum.js': RIGHT, 'test/sum.test.js': RUNNER },
      command: 'node --test',
      work: ({ write }) => {
        write('sum.js', WRONG)
        write('test/sum.test.js', RUNNER.replace('3)', '-1)'))
      },
    },
  ],
  [
    'an added script that puts the weak test back before the tests run',
    {
      files: { 'package.json': PACKAGE, 'sum.js': RIGHT, 'test/sum.test.js': RUNNER },
      command: 'npm test',
      work: ({ write }) => {
        write('package.json', PACKAGE.replace('{"test"', '{"pretest":"cp assets/a.dat test/sum.test.js","test"'))
        write('assets/a.dat', RUNNER.replace('3)', '-1)'))
        write('sum.js', WRONG)
        write('test/sum.test.js', RUNNER.replace('3)', '-1)'))
      },
    },
  ],
  [
    'a test file that is called like a document',
    {
      files: { 'sum.js': RIGHT, 'test/document.test.js': RUNNER },
      command: 'node --test',
      work: ({ write }) => {
        write('sum.js', WRONG)
        write('test/document.test.js', RUNNER.replace('3)', '-1)'))
      },
    },
  ],
  [
    'an expected value in a text beside the tests',
    {
      files: {
        'sum.js': RIGHT,
        'test/expected.txt': '3',
        'test/sum.test.js': RUNNER.replace(
          'sum(1, 2), 3',
          "String(sum(1, 2)), require('node:fs').readFileSync(`${__dirname}/expected.txt`, 'utf8')",
        ),
      },
      command: 'node --test',
      work: ({ write }) => {
        write('sum.js', WRONG)
        write('test/expected.txt', '-1')
      },
    },
  ],
  [
    'the only test file deleted',
    {
      files: { 'sum.js': RIGHT, 'test/sum.test.js': RUNNER },
      command: 'node --test',
      work: ({ write, git }) => {
        write('sum.js', WRONG)
        git('rm', '-q', 'test/sum.test.js')
      },
    },
  ],
  ...Object.entries({
    'a key of package.json by which the runner finds no tests': {
      'package.json': '{"name":"x","jest":{"skips":true},"scripts":{"test":"node run.js package.json"}}\n',
    },
    'an added setup.cfg': { 'setup.cfg': '[metadata]\nname = x\n[tool:pytest]\nskips = 1\n' },
  }).map(([name, changed]): [string, Parameters<typeof judge>[1]] => [
    name,
    {
      files: {
        'package.json': '{"name":"x","scripts":{"test":"node run.js package.json"}}\n',
        'sum.js': RIGHT,
        // A runner that obeys these files.
        'run.js': `const { readdirSync, readFileSync } = require('node:fs')
const all = readdirSync('.').filter(name => /\\.(toml|cfg|json|ts)$/.test(name)).map(name => readFileSync(name, 'utf8'))
if (!all.join().includes('skips')) ${PLAIN}`,
      },
      command: 'node run.js',
      work: ({ write }) => {
        write('sum.js', WRONG)
        for (const [path, text] of Object.entries(changed)) write(path, text)
      },
    },
  ]),
  ...Object.entries({
    'exit 0 at the top of the script behind make': { 'test.sh': 'exit 0\nset -e\nnode test.js\n' },
    'true || before the check': { 'test.sh': 'set -e\ntrue || node test.js\n' },
    'a check whose failure is swallowed': { 'test.sh': 'set -e\nnode test.js || true\n' },
    'a script that goes on and ends well': { 'test.sh': 'set +e\nnode test.js\necho done\n' },
    'a target that runs something else': { Makefile: 'test:\n\tnode --version\n' },
    'a recipe whose failure make ignores': { Makefile: 'test:\n\t-sh test.sh\n' },
    'another makefile that takes the place of the first': { GNUmakefile: 'test:\n\ttrue\n' },
  }).map(([name, changed]): [string, Parameters<typeof judge>[1]] => [
    name,
    {
      files: MAKE,
      command: 'make test',
      work: ({ write }) => {
        write('sum.js', WRONG)
        for (const [path, text] of Object.entries(changed)) write(path, text as string)
      },
    },
  ]),
  [
    'a script of package.json',
    {
      files: { 'sum.js': RIGHT, 'test.js': PLAIN, 'package.json': '{"scripts":{"test":"node test.js"}}\n' },
      command: 'npm test --silent',
      work: ({ write }) => {
        write('sum.js', WRONG)
        write('package.json', '{"scripts":{"test":"node sum.js"}}\n')
      },
    },
  ],
  [
    'the expected value of a doctest',
    {
      files: { 'sum.py': DOCTEST },
      command: 'python3 -m doctest sum.py',
      work: ({ write }) => write('sum.py', DOCTEST.replace('    3', '    -1').replace('a + b', 'a - b')),
    },
  ],
  [
    'the expected value of a test in a Rust program',
    {
      files: { 'src/lib.rs': RUST },
      command: 'true',
      work: ({ write }) => write('src/lib.rs', RUST.replaceAll('3', '4')),
    },
  ],
  [
    'a program that ends the process while a plain script loads it',
    {
      files: { 'sum.js': RIGHT, 'test.js': PLAIN },
      command: 'node test.js',
      work: ({ write }) => write('sum.js', `process.exit(0)\n${WRONG}`),
    },
  ],
  [
    'a program that ends the process while a runner loads it',
    {
      files: { 'sum.js': RIGHT, 'test/sum.test.js': RUNNER },
      command: 'node --test',
      work: ({ write }) => write('sum.js', `process.exit(0)\n${WRONG}`),
    },
  ],
]

for (const [name, tampering] of TAMPERING) {
  test(`what passes only by tampering is not taken for proven: ${name}`, async t => {
    const { status, codes, isProven, findings } = await judge(t, tampering)
    assert.ok(status === 'failed' || concernsAbout({ isProven, findings }).length > 0, `${status}: ${codes.join(', ')}`)
  })
}

test('where the work put a link in the place of a package, what it leads to is not written', async t => {
  const outside = tempDir(t)
  writeFileSync(join(outside, 'package.json'), '{"scripts":{"test":"mine"}}')
  await judge(t, {
    files: { 'sum.js': RIGHT, 'test.js': PLAIN, 'pkg/package.json': '{"scripts":{"test":"node ../test.js"}}' },
    command: 'node test.js',
    work: ({ git, worktree }) => {
      git('rm', '-rq', 'pkg')
      symlinkSync(outside, join(worktree.top, 'pkg'))
    },
  })
  assert.equal(readFileSync(join(outside, 'package.json'), 'utf8'), '{"scripts":{"test":"mine"}}')
})

test('checks that changed with a requirement are for a person, who is told which, and not for the agent', async t => {
  const { status, findings, next_steps } = await judge(t, {
    files: { 'sum.js': RIGHT, 'check.js': PLAIN },
    command: 'node check.js',
    work: ({ write }) => {
      write('sum.js', 'module.exports = (a, b) => `${a + b}!`\n')
      write('check.js', PLAIN.replace('3)', "'3!')"))
    },
  })
  assert.equal(status, 'passed', next_steps.join('\n'))
  const [finding] = findings.filter(({ weight }) => weight === 'review')
  assert.equal(finding?.code, 'checks.changed')
  assert.match(finding?.text ?? '', /`node check\.js` passes only with the checks that the work changed: check\.js/)
})

test('a check that says more, and passes as it was before too, holds nothing up', async t => {
  const { status, codes, checks, isProven } = await judge(t, {
    files: { 'sum.js': RIGHT, 'check.js': PLAIN },
    command: 'node check.js',
    work: ({ write }) => write('check.js', `${PLAIN}require('node:assert').equal(require('./sum.js')(2, 2), 4)\n`),
  })
  assert.deepEqual([status, codes, isProven], ['passed', [], true])
  const { output } = checks.find(({ gate }) => gate === 'earlier-checks') ?? {}
  assert.match(output ?? '', /Passed with the earlier version of check\.js/)
})

test('work that changes no check is run with its own checks only', async t => {
  const { checks, isProven } = await judge(t, {
    files: { 'sum.js': RIGHT, 'test/sum.test.js': RUNNER },
    command: 'node --test',
    work: ({ write }) => write('sum.js', `// adds\n${RIGHT}`),
  })
  assert.ok(isProven)
  assert.equal(
    checks.find(({ gate }) => gate === 'earlier-checks'),
    undefined,
  )
})

test('a person may let changed checks pass by their name', async t => {
  const fixture = await openVerifyFixture(t, { 'sum.js': RIGHT, 'check.js': PLAIN })
  fixture.write('sum.js', WRONG)
  fixture.write('check.js', PLAIN.replace('3)', '-1)'))
  const diff = { maxChangedLines: 0, forbiddenPaths: [], allow: ['checks.changed'] }
  const gates = { commands: { test: 'node check.js' }, verifier: 'off' as const, diff }
  const { status, isProven, findings } = await verify(fixture.request({}, gates), fixture.deps())
  assert.deepEqual([status, concernsAbout({ isProven, findings })], ['passed', []])
})

const GOOD: [name: string, Parameters<typeof judge>[1]][] = [
  [
    'one more doctest',
    {
      files: { 'sum.py': DOCTEST },
      command: 'python3 -m doctest sum.py',
      work: ({ write }) => write('sum.py', DOCTEST.replace('    3', '    3\n    >>> add(2, 2)\n    4')),
    },
  ],
  [
    'one more test in a Rust program',
    {
      files: { 'src/lib.rs': `#[cfg(test)]\nmod helper;\n${RUST}` },
      command: 'true',
      work: ({ write }) => {
        const more = '    #[test]\n    fn more() {\n        assert_eq!(super::two(), 2);\n    }\n}\n'
        const program = RUST.replace('{ 3 }', '{ 1 + two() }\npub fn two() -> i32 { 2 }')
        write('src/lib.rs', `#[cfg(test)]\nmod helper;\n${program.replace(/\}\n$/, more)}`)
      },
    },
  ],
  [
    'a new test that uses one more export of a helper',
    {
      files: { 'sum.js': RIGHT, 'test/helper.js': 'exports.one = 1\n', 'test/sum.test.js': RUNNER },
      command: 'node --test test/*.test.js',
      work: ({ write }) => {
        write('test/helper.js', 'exports.one = 1\nexports.two = 2\n')
        write('test/two.test.js', RUNNER.replace('sum(1, 2)', "sum(1, require('./helper.js').two)"))
      },
    },
  ],
  [
    'a new script and its new test',
    {
      files: { 'sum.js': RIGHT, 'test/sum.test.js': RUNNER },
      command: 'node --test',
      work: ({ write }) => {
        write('backup.sh', 'echo 3\n')
        const output = "Number(require('node:child_process').execSync('sh backup.sh'))"
        write('test/backup.test.js', RUNNER.replace('sum(1, 2)', output))
      },
    },
  ],
  [
    'a new script that the program runs',
    {
      files: { ...MAKE, 'tests/helper.js': '' },
      command: 'make test',
      work: ({ write }) => {
        write('add.sh', 'echo $(($1 + $2))\n')
        write(
          'sum.js',
          "const { execFileSync } = require('node:child_process')\nmodule.exports = (...n) => Number(execFileSync('sh', ['add.sh', ...n]))\n",
        )
        write('tests/helper.js', 'exports.one = 1\n')
      },
    },
  ],
  [
    'the first tests of a runner that fails without any',
    {
      files: { 'sum.js': RIGHT, Makefile: 'test:\n\tnode tests/*.test.js\n' },
      command: 'make test',
      work: ({ write }) => {
        write('tests/sum.test.js', RUNNER)
        write('Makefile', 'test:\n\tnode tests/*.test.js\n\nall: test\n')
      },
    },
  ],
]

for (const [name, good] of GOOD) {
  test(`ordinary work is not held up for its checks: ${name}`, async t => {
    const { status, findings } = await judge(t, good)
    const held = findings.filter(({ weight }) => weight !== 'note')
    assert.deepEqual([status, held.map(({ code, text }) => `${code} ${text}`)], ['passed', []])
  })
}

test('the end of the tests is tried with one file, and once for a tree', async t => {
  const runs = join(realpathSync(tempDir(t)), 'runs')
  const each = (name: string) => [`checks/${name}.test.js`, PLAIN.replace('./', '../')]
  const files = Object.fromEntries(['a', 'b', 'c'].map(each))
  const fixture = await openVerifyFixture(t, { 'sum.js': RIGHT, ...files })
  fixture.write('sum.js', `// adds\n${RIGHT}`)
  const command = `echo run >> ${runs}; for each in checks/*.test.js; do node $each || exit 1; done`
  const verifyOnce = async () => {
    const gates = { commands: { test: command }, verifier: 'off' as const }
    const { status } = await verify(fixture.request({}, gates), fixture.deps())
    return [status, readFileSync(runs, 'utf8').trim().split('\n').length]
  }
  // The work, where it began, and the end of one file.
  assert.deepEqual(await verifyOnce(), ['passed', 3])
  assert.deepEqual(await verifyOnce(), ['passed', 3], 'nothing of it is run again')
})
