import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import {
  CRASH_POINTS,
  MEMORY_CRASH_POINTS,
  REUSE_CRASH_POINTS,
  WORKSPACE_CRASH_POINTS,
} from '../../src/base/crash-point.ts'
import { bareEnv, tempDir } from '../support/world.ts'

const BASE = fileURLToPath(new URL('../../src/base', import.meta.url))

/** A program that passes a step three times and prints how far it got. */
function passes(from: string): string {
  return `import { crashPoint } from ${JSON.stringify(from)}
process.on('exit', () => console.log('left'))
try {
  for (const time of [1, 2, 3]) {
    crashPoint('settle.before-commit')
    console.log(time)
  }
} finally {
  console.log('finally')
}
`
}

function run(code: string, env: Record<string, string>) {
  const { stdout, signal } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    env: { ...bareEnv('/'), ...env },
    encoding: 'utf8',
  })
  return { said: stdout.split('\n').filter(Boolean), signal }
}

test('a program from source dies at the named step, at the named time, and nothing runs after it', t => {
  const code = passes(join(BASE, 'crash-point.ts'))
  assert.deepEqual(run(code, { PCC_CRASH_AT: 'settle.before-commit' }), { said: [], signal: 'SIGKILL' })
  assert.deepEqual(run(code, { PCC_CRASH_AT: 'settle.before-commit:3' }), { said: ['1', '2'], signal: 'SIGKILL' })
  const file = join(tempDir(t), 'passed')
  const whole = { said: ['1', '2', '3', 'finally', 'left'], signal: null }
  assert.deepEqual(run(code, { PCC_CRASH_AT: 'settle.after-commit', PCC_CRASH_LOG: file }), whole)
  assert.equal(readFileSync(file, 'utf8'), 'settle.before-commit\n', 'each step is noted once')
  const died = join(tempDir(t), 'died')
  run(code, { PCC_CRASH_AT: 'settle.before-commit:2', PCC_CRASH_LOG: died })
  assert.equal(
    readFileSync(died, 'utf8'),
    'settle.before-commit\ndied settle.before-commit\n',
    'and so is its last step',
  )
})

test('what is published does not die at a step, whatever the environment says', t => {
  const dir = tempDir(t)
  const source = readFileSync(join(BASE, 'crash-point.ts'), 'utf8')
  writeFileSync(join(dir, 'crash-point.js'), stripTypeScriptTypes(source))
  const whole = { said: ['1', '2', '3', 'finally', 'left'], signal: null }
  assert.deepEqual(run(passes(join(dir, 'crash-point.js')), { PCC_CRASH_AT: 'settle.before-commit' }), whole)
})

test('every listed step occurs in the code once', () => {
  const text = sources().join('\n')
  const uses = [...text.matchAll(/crashPoint\('([^']+)'\)/g)].map(([, name]) => name ?? '')
  const listed = [CRASH_POINTS, WORKSPACE_CRASH_POINTS, REUSE_CRASH_POINTS, MEMORY_CRASH_POINTS].flat()
  assert.deepEqual(uses.toSorted(), listed.toSorted())
})

function sources(): string[] {
  const root = fileURLToPath(new URL('../../src', import.meta.url))
  return globSync('**/*.ts', { cwd: root }).map(file => readFileSync(join(root, file), 'utf8'))
}
