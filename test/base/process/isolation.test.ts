import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { spawnGuarded } from '../../../src/base/process/guardian.ts'
import { findAgent, type Isolation, isolationLevel, probeNamespace } from '../../../src/base/process/isolation.ts'
import { bareEnv } from '../../support/world.ts'

test('"marker" never makes a namespace', async () => {
  assert.equal(await isolationLevel('marker'), 'marker')
})

test('"auto" never makes a user namespace, which would hide the owners of files', () => {
  assert.ok(!probeNamespace('auto')?.enter.includes('--user'))
})

test('without the right to make namespaces, "auto" uses the marker', () => {
  assert.equal(unprivileged('auto'), undefined)
})

test('without that right, "namespace" uses a user namespace, or reports that it is only the marker', () => {
  const words = unprivileged('namespace')
  assert.ok(words === undefined || words.includes('--user'), String(words))
})

/** The command that a process finds which may not mount or unshare: this user, or root without that capability. */
function unprivileged(isolation: Isolation): string[] | undefined {
  const program = `
    import { probeNamespace } from ${JSON.stringify(new URL('../../../src/base/process/isolation.ts', import.meta.url).href)}
    console.log(JSON.stringify(probeNamespace('${isolation}')?.enter ?? null))`
  const drop = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-sys_admin'] : ['env']
  const [command = '', ...args] = [...drop, process.execPath, '--input-type=module-typescript', '-e', program]
  const enter: string[] | null = JSON.parse(execFileSync(command, args, { encoding: 'utf8' }))
  return enter ?? undefined
}

test('a namespace tells whether its agent is alone in it; an orphan counts as company', async () => {
  await using child = spawnGuarded({
    command: process.execPath,
    args: ['-e', NODE],
    env: bareEnv('/'),
    marker: { name: 'PCC_TEST_MARK', value: `alone-${process.pid}` },
    isolation: 'auto',
  })
  await once(child.stdout, 'data')
  const isAlone = () => findAgent(child.pid ?? 0, { level: child.level })?.isAlone ?? false
  assert.equal(isAlone(), (await isolationLevel()) === 'namespace')
  child.stdin.write('go\n')
  await once(child.stdout, 'data')
  assert.equal(isAlone(), false)
})

/** An agent with threads, like the real one, that starts a process which leaves its tree. */
const NODE = `
const { spawnSync } = require('node:child_process')
process.stdin.once('data', () => {
  spawnSync('/bin/sh', ['-c', 'setsid sleep 600 >/dev/null 2>&1 &'], { stdio: 'ignore' })
  console.log('orphan')
})
console.log('started')
`

test('a process that is gone is not alone', () => {
  assert.equal(findAgent(2 ** 22 + 1, { level: 'namespace' }), undefined)
})

test('without a PID namespace nobody can tell whether an agent is alone', () => {
  assert.equal(findAgent(process.pid, { level: 'marker' }), undefined)
})
