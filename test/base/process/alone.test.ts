import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { spawnGuarded } from '../../../src/base/process/guardian.ts'
import { isolationLevel } from '../../../src/base/process/isolation.ts'
import { isAlone } from '../../../src/base/process/namespace.ts'
import { bareEnv } from '../../support/world.ts'

test('a namespace tells whether its agent is alone in it; an orphan counts as company', async () => {
  await using child = spawnGuarded({
    command: process.execPath,
    args: ['-e', NODE],
    env: bareEnv('/'),
    marker: { name: 'PCC_TEST_MARK', value: `alone-${process.pid}` },
    isolation: 'auto',
  })
  await once(child.stdout, 'data')
  assert.equal(isAlone(child.pid ?? 0), isolationLevel() === 'namespace')
  child.stdin.write('go\n')
  await once(child.stdout, 'data')
  assert.equal(isAlone(child.pid ?? 0), false)
})

/** An agent with threads, as the real one, that starts something which leaves it. */
const NODE = `
const { spawnSync } = require('node:child_process')
process.stdin.once('data', () => {
  spawnSync('/bin/sh', ['-c', 'setsid sleep 600 >/dev/null 2>&1 &'], { stdio: 'ignore' })
  console.log('orphan')
})
console.log('started')
`

test('a process that is gone is not alone', () => {
  assert.equal(isAlone(2 ** 22 + 1), false)
})
