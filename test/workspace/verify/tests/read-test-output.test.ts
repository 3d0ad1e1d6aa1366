import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { openTestReader } from '../../../../src/workspace/verify/read-test-output.ts'

/** Recorded output of the real runners for a few tests each; paths are shortened. */
function recorded(name: string): string[] {
  return readFileSync(new URL(`fixtures/${name}.txt`, import.meta.url), 'utf8').split('\n')
}

function read(lines: readonly string[]) {
  const reader = openTestReader()
  for (const line of lines) reader.line(line.trimEnd())
  return reader.end()
}

function byName(name: string): Record<string, string> {
  const found = read(recorded(name))
  return Object.fromEntries(found?.tests.map(test => [test.name, test.status]) ?? [])
}

const NODE = {
  'plain works': 'passed',
  'plain fails': 'failed',
  'is skipped': 'skipped',
  'is todo': 'skipped',
  shop: 'failed',
  'shop > opens': 'passed',
  'shop > closes "late" (a b)': 'failed',
  'shop > inner': 'passed',
  'shop > inner > deep': 'passed',
  parent: 'failed',
  'parent > child': 'passed',
  'parent > child 2': 'failed',
}

test('node --test tells its tests in the form for people', () => {
  assert.deepEqual(byName('node-spec'), NODE)
})

test('node --test tells its tests as TAP', () => {
  assert.deepEqual(byName('node-tap'), NODE)
  assert.deepEqual(read(recorded('node-tap'))?.runners, ['node'])
})

test('jest tells files and what failed in them', () => {
  assert.deepEqual(byName('jest'), {
    'src/a.test.js': 'failed',
    'src/a.test.js > shop > closes late': 'failed',
    'src/b.test.js': 'passed',
  })
})

test('jest tells every test when it is verbose', () => {
  assert.deepEqual(byName('jest-verbose'), {
    'src/a.test.js': 'failed',
    'src/a.test.js > top level': 'passed',
    'src/a.test.js > shop > opens': 'passed',
    'src/a.test.js > shop > closes late': 'failed',
    'src/a.test.js > shop > inner > later': 'skipped',
    'src/b.test.js': 'passed',
    'src/b.test.js > fine': 'passed',
    'src/b.test.js > fine too': 'passed',
  })
})

test('vitest tells files, and the tests of one in which something failed', () => {
  assert.deepEqual(byName('vitest'), {
    'src/a.test.js': 'failed',
    'src/a.test.js > shop > opens': 'passed',
    'src/a.test.js > shop > closes late': 'failed',
    'src/a.test.js > shop > inner > later': 'skipped',
    'src/a.test.js > top level': 'passed',
    'src/b.test.js': 'passed',
  })
})

test('vitest tells every test when it is verbose', () => {
  assert.deepEqual(byName('vitest-verbose'), {
    'src/a.test.js > shop > opens': 'passed',
    'src/a.test.js > shop > closes late': 'failed',
    'src/a.test.js > shop > inner > later': 'skipped',
    'src/a.test.js > top level': 'passed',
    'src/b.test.js > fine': 'passed',
    'src/b.test.js > fine too': 'passed',
  })
})

const PYTEST = {
  'test_a.py > TestShop > test_open': 'passed',
  'test_a.py > TestShop > test_close': 'failed',
  'test_a.py > test_par[1]': 'passed',
  'test_a.py > test_par[2]': 'failed',
  'test_a.py > test_par[a b]': 'passed',
  'test_a.py > test_err': 'failed',
}

test('pytest tells every test', () => {
  const more = { 'test_a.py > test_later': 'skipped', 'test_a.py > test_xf': 'skipped' }
  assert.deepEqual(byName('pytest'), { ...PYTEST, ...more })
})

test('pytest tells what passed and failed in its summary, even where the project wants it quiet', () => {
  assert.deepEqual(byName('pytest-quiet'), PYTEST)
})

test('pytest with several workers tells the verdict first', () => {
  const lines = [
    '[gw0] [ 50%] PASSED a.py::test_x',
    '[gw1] [100%] FAILED a.py::test_y',
    '=== 1 failed, 1 passed in 0.10s ===',
  ]
  assert.deepEqual(read(lines)?.tests, [
    { name: 'a.py > test_x', status: 'passed' },
    { name: 'a.py > test_y', status: 'failed' },
  ])
})

test('go test tells packages and what failed in them', () => {
  assert.deepEqual(byName('go'), {
    shop: 'failed',
    'shop > TestClose': 'failed',
    'shop > TestClose > late_night': 'failed',
    'shop/inner': 'passed',
  })
})

test('go test -v tells every test', () => {
  assert.deepEqual(byName('go-verbose'), {
    shop: 'failed',
    'shop > TestOpen': 'passed',
    'shop > TestClose': 'failed',
    'shop > TestClose > late_night': 'failed',
    'shop > TestClose > ok': 'passed',
    'shop > TestLater': 'skipped',
    'shop/inner': 'passed',
    'shop/inner > TestFine': 'passed',
  })
})

test('cargo test tells every test below its program, and examples in the documentation', () => {
  assert.deepEqual(byName('cargo'), {
    'src/lib.rs > tests::opens': 'passed',
    'src/lib.rs > tests::closes': 'failed',
    'src/lib.rs > tests::later': 'skipped',
    'doc-tests shop > src/lib.rs - f': 'passed',
  })
})

for (const name of ['node-spec', 'node-tap', 'jest', 'vitest', 'pytest', 'cargo']) {
  test(`a list of ${name} that was cut off is none`, () => {
    const lines = recorded(name)
    assert.equal(read(lines.slice(0, 6)), undefined)
  })
}

test('what no runner prints tells of no test', () => {
  assert.equal(read(['make: nothing to be done', 'ok', 'PASS', 'all good (3ms)']), undefined)
})

test('two runners of one command are both read', () => {
  assert.deepEqual(read([...recorded('go'), ...recorded('jest')])?.runners, ['jest', 'go'])
})

test('of two tests of one name the worse counts', () => {
  const lines = ['✔ same (1ms)', '✖ same (1ms)', '✔ same (1ms)', 'ℹ tests 3']
  assert.deepEqual(read(lines)?.tests, [{ name: 'same', status: 'failed' }])
})
