import assert from 'node:assert/strict'
import { test } from 'node:test'
import { retryableFailures, retryCommands } from '../../../../src/workspace/verify/test-results.ts'

const failed = (...names: string[]) => names.map(name => ({ name, status: 'failed' as const }))

test('what failed only because of what is in it is not run by itself', () => {
  const tests = [...failed('a.js', 'a.js > shop', 'a.js > shop > opens'), { name: 'b.js', status: 'passed' as const }]
  assert.deepEqual(retryableFailures(tests), ['a.js > shop > opens'])
})

test('node is told the names in its options, first by themselves and then by what they are in', () => {
  assert.deepEqual(retryCommands('node', 'npm test && true', ['shop > closes "late" (a)', 'plain']), [
    {
      command: 'npm test && true',
      env: { NODE_OPTIONS: '--test-name-pattern="^closes \\"late\\" \\\\(a\\\\)$" --test-name-pattern="^plain$"' },
    },
    {
      command: 'npm test && true',
      env: { NODE_OPTIONS: '--test-name-pattern="^shop$" --test-name-pattern="^plain$"' },
    },
  ])
})

for (const [runner, command, name, expected] of [
  [
    'jest',
    'npm test',
    'a.js > shop > opens',
    "npm test -- --verbose '--testNamePattern=^(shop opens)$' --runTestsByPath a.js",
  ],
  ['jest', 'npx jest', 'a.js', 'npx jest --verbose --runTestsByPath a.js'],
  ['vitest', 'pnpm test', 'a.js > opens', "pnpm test --reporter=verbose '--testNamePattern=^(opens)$' a.js"],
  ['go', 'go test ./...', 'shop > TestA > sub', "go test ./... -count=1 -v '-run=^(TestA)$'"],
  ['cargo', 'cargo test', 'src/lib.rs > tests::a', 'cargo test --no-fail-fast -- --exact tests::a'],
] as const) {
  test(`${runner} is told them as words of ${command}`, () => {
    assert.deepEqual(retryCommands(runner, command, [name]), [{ command: expected, env: {} }])
  })
}

test('a command that is more than one call is not taken apart', () => {
  for (const command of ['tsc && jest', 'jest | tee out', 'make test', 'cd a; jest', 'echo $(jest)']) {
    assert.deepEqual(retryCommands('jest', command, ['a.js > opens']), [], command)
  }
  assert.deepEqual(retryCommands('cargo', 'cargo test -- --nocapture', ['tests::a']), [])
})

test('a name cannot break out of the command that it is put into', () => {
  const [retry] = retryCommands('jest', 'jest', ["a.js > it's $(touch x); `id`"])
  assert.match(retry?.command ?? '', /'--testNamePattern=\^\(it'\\''s \\\$\\\(touch x\\\); `id`\)\$'/)
})

test('many that fail are not run again', () => {
  const many = Array.from({ length: 21 }, (_, at) => `test ${at}`)
  assert.deepEqual(retryCommands('node', 'node --test', many), [])
})
