import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { ANY_FLAGS, TABLES } from '../../../src/policy/programs/programs.ts'
import type { Arg } from '../../../src/policy/shell/args.ts'
import { flagTable, scanFlags } from '../../../src/policy/shell/flag-table.ts'

using classifier = openClassifier({ realPath: path => path })
const assess = async (command: string) =>
  classifier.classify({ tool: 'Bash', input: { command }, project: '/proj', home: '/home/u' })

/** Builtins with a rule for what they do to the shell. The shell itself reads their flags and refuses unknown ones. */
const SHELL_BUILTINS =
  'cd pushd popd set export declare typeset local readonly mapfile readarray shopt trap alias command builtin exec printf wait let getopts read unset'
const anyFlags = new Set([...ANY_FLAGS.split(' '), ...SHELL_BUILTINS.split(' ')])
const strict = TABLES.flatMap(table => Object.keys(table)).filter(name => !anyFlags.has(name))

test('a program has one row in all tables, because only the last one would count', () => {
  const names = TABLES.flatMap(table => Object.keys(table))
  assert.deepEqual([...new Set(names.filter((name, at) => names.indexOf(name) !== at))], [])
})

/** No program has a flag with this in it. */
const unknownFlag = fc.oneof(
  fc.stringMatching(/^--q[xz]q[a-z-]{1,10}$/),
  fc.stringMatching(/^--q[xz]q[a-z]{1,6}=[a-z0-9]{1,6}$/),
  fc.constantFrom('-%', '-%x', '-^'),
)

test('an unknown flag on a LOW program never stays LOW', async () => {
  const word = fc.constantFrom('', 'x', 'src', 'README.md', 'src/a.ts')
  for (const name of strict)
    await fc.assert(
      fc.asyncProperty(unknownFlag, word, fc.boolean(), async (flag, other, last) => {
        const command = (last ? [name, other, flag] : [name, flag, other]).filter(part => part !== '').join(' ')
        // Flags after the name of a script belong to the script.
        if (last && /^(yarn|yarnpkg|pnpm|bun)$/.test(name)) return
        assert.notEqual((await assess(command)).risk, 'LOW', command)
      }),
      { numRuns: 6 },
    )
})

test('a verb that makes a program LOW does not excuse a flag that is not known', async () => {
  const calls = [
    'npm test',
    'npm ci',
    'yarn install',
    'pip list',
    'cargo build',
    'cargo test',
    'go test ./...',
    'go build',
    'ruff check',
    'biome check',
    'next build',
    'dotnet build',
    'mix test',
    'bundle install',
    'composer install',
    'mvn test',
    'gradle test',
    'deno test',
    'poetry install',
    'uv sync',
    'make test',
    'cmake --build build',
    'python3 -m json.tool a.json',
    'node --check a.js',
    'tar tf a.tar',
    'unzip -l a.zip',
    'openssl version',
    'timeout 5 ls',
    'coverage report',
  ]
  for (const call of calls) {
    assert.equal((await assess(call)).risk, 'LOW', call)
    await fc.assert(
      fc.asyncProperty(unknownFlag, async flag => {
        const [name, ...rest] = call.split(' ')
        // Words after their command or script are not theirs any more.
        const command = /^(timeout|node)$/.test(name ?? '') ? [name, flag, ...rest].join(' ') : `${call} ${flag}`
        assert.notEqual((await assess(command)).risk, 'LOW', command)
      }),
      { numRuns: 12 },
    )
  }
})

test('a flag that is not known says so, and points at its word', async () => {
  const command = 'ls --frobnicate src'
  const { reasons } = await assess(command)
  assert.deepEqual(
    reasons.map(({ code, risk, at }) => [code, risk, at && command.slice(...at)]),
    [['flag.unknown', 'MEDIUM', '--frobnicate']],
  )
})

const table = flagTable({
  harmless: '-ab -k: -c? -# --all --key: --color? --pair:: --no-*',
  reads: '--from:',
  writes: '-o: --output:',
  runs: '--compress-program:',
})
const scan = (line: string, given = table) => {
  const seen = scanFlags(line.split(' ').map(word), given)
  return {
    flags: seen.flags.map(({ kind, name, value }) => [kind, name, value?.value]),
    operands: seen.operands.map(arg => arg.value),
    unknown: seen.unknown.map(arg => arg.value),
  }
}
function word(value: string): Arg {
  return { value, text: value, at: [0, 0], known: true, glob: false, substituted: false }
}

test('clusters, attached values and values of their own are told apart', () => {
  assert.deepEqual(scan('-ab x'), {
    flags: [
      ['harmless', 'a', undefined],
      ['harmless', 'b', undefined],
    ],
    operands: ['x'],
    unknown: [],
  })
  assert.deepEqual(scan('-ak1 x').flags[1], ['harmless', 'k', '1'])
  assert.deepEqual(scan('-k 1 x'), { flags: [['harmless', 'k', '1']], operands: ['x'], unknown: [] })
  assert.deepEqual(scan('--key=1 x').flags, [['harmless', 'key', '1']])
  assert.deepEqual(scan('--key 1 x').operands, ['x'])
  assert.deepEqual(scan('--pair a b x'), { flags: [['harmless', 'pair', 'b']], operands: ['x'], unknown: [] })
  assert.deepEqual(scan('--color x'), { flags: [['harmless', 'color', undefined]], operands: ['x'], unknown: [] })
  assert.deepEqual(scan('-20 x'), { flags: [], operands: ['x'], unknown: [] })
  assert.deepEqual(scan('--no-thing=1').unknown, [])
  assert.deepEqual(scan('-- --frob -x').operands, ['--frob', '-x'])
})

test('a dangerous letter is found inside a cluster, and an unknown one spoils it', () => {
  assert.deepEqual(scan('-abo out').flags[2], ['writes', 'o', 'out'])
  assert.deepEqual(scan('-aboout').flags[2], ['writes', 'o', 'out'])
  assert.deepEqual(scan('-abz x').unknown, ['-abz'])
})

test('an abbreviation counts for what is dangerous and is unknown otherwise', () => {
  assert.deepEqual(scan('--outp x').flags, [['writes', 'output', 'x']])
  assert.deepEqual(scan('--comp=./x').flags, [['runs', 'compress-program', './x']])
  assert.deepEqual(scan('--c=./x').flags, [['runs', 'compress-program', './x']])
  assert.deepEqual(scan('--al').unknown, ['--al'])
  assert.deepEqual(scan('--all=1').unknown, ['--all=1'])
})

test('where one dash is as good as two, letters do not stand in clusters', () => {
  const words = flagTable({ words: true, harmless: '-v -run: -I*', runs: '-exec:' })
  assert.deepEqual(scan('-run X -vv -Ipath', words).unknown, [])
  assert.deepEqual(scan('--exec=./x', words).flags, [['runs', 'exec', './x']])
  assert.deepEqual(scan('-vr', words).unknown, ['-vr'])
})

test('a destructive verb counts behind any flags, with values or without', async () => {
  const commands = [
    'helm -n prod uninstall x',
    'helm --debug --kube-context prod rollback x',
    'helm --namespace prod --debug uninstall x',
    'helm -n prod plugin install y',
  ]
  for (const command of commands) assert.equal((await assess(command)).risk, 'HIGH', command)
  for (const command of ['helm list -n prod', 'helm -n prod status x'])
    assert.equal((await assess(command)).risk, 'MEDIUM', command)
})
