import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { isAlive } from '../../src/base/process/process-table.ts'
import { findLivingParent, readDeaths } from '../../src/daemon/parent-process.ts'
import type { Health } from '../../src/domain/api.ts'
import { type Pcc, pccFor } from '../cli/pcc.ts'

async function health(pcc: Pcc): Promise<Partial<Health>> {
  return JSON.parse((await pcc.run(['daemon', 'status', '--json'])).stdout) as Partial<Health>
}

/** The parent, if it is still alive; otherwise the test fails. */
async function parentOf(pcc: Pcc) {
  const parent = await findLivingParent(appPathsFor({ env: pcc.env }))
  assert.ok(parent)
  return parent
}

test('a daemon that is killed comes back under the same parent; a stop ends both', async t => {
  const pcc = pccFor(t)
  await pcc.run(['daemon', 'start'])
  const first = await health(pcc)
  assert.equal(first.kept_by, 'parent')
  const parent = await parentOf(pcc)
  const rssKb = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${parent.pid}/status`, 'utf8'))?.[1])
  assert.ok(rssKb < 5_000, `the parent takes ${rssKb} kB`)

  process.kill(first.pid ?? 0, 'SIGKILL')
  assert.match((await pcc.run([])).stdout, /^0 sessions are open/, 'a person who looks meanwhile sees the next one')
  let second = await health(pcc)
  for (; second.status !== 'ok'; second = await health(pcc)) await sleep(20)
  assert.notEqual(second.pid, first.pid)
  assert.deepEqual(await parentOf(pcc), parent)
  assert.deepEqual(
    readDeaths(appPathsFor({ env: pcc.env })).map(({ pid, code }) => [pid, code]),
    [[first.pid, 137]],
  )

  // The death of a parent ends nothing else.
  process.kill(parent.pid, 'SIGKILL')
  while (await isAlive(parent)) await sleep(5)
  const alone = await health(pcc)
  assert.deepEqual([alone.pid, alone.kept_by], [second.pid, 'nobody'])
  assert.match((await pcc.run(['daemon', 'status'])).stdout, /Kept by: {3}nobody/)

  await pcc.run(['daemon', 'restart'])
  assert.equal((await health(pcc)).kept_by, 'parent')
  const next = await parentOf(pcc)
  process.kill(next.pid, 'SIGINT')
  while (await isAlive(next)) await sleep(5)
  assert.equal((await health(pcc)).status, 'stopped', 'a signal to the parent is one to the daemon')

  await pcc.run(['daemon', 'start'])
  const last = await parentOf(pcc)
  assert.match((await pcc.run(['daemon', 'stop'])).stdout, /is stopped/)
  assert.equal(await isAlive(last), false)
})

test('daemon.parent = false: nobody starts the daemon again', async t => {
  const pcc = pccFor(t, { PCC_DAEMON_PARENT: 'false' })
  await pcc.run(['daemon', 'start'])
  assert.equal((await health(pcc)).kept_by, 'nobody')
  assert.equal(await findLivingParent(appPathsFor({ env: pcc.env })), undefined)
})
