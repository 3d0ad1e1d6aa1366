import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { test } from 'node:test'
import { isAlive, type ProcessIdentity, startTimeOf } from '../../../src/base/process/process-table.ts'
import { tempDir } from '../../support/world.ts'

test('a living process has a start time that does not change', async () => {
  const first = await startTimeOf(process.pid)
  assert.ok(first)
  assert.equal(await startTimeOf(process.pid), first)
  assert.equal(await isAlive({ pid: process.pid, startTime: first }), true)
})

test('the same pid with another start time is another process', async () => {
  const startTime = await startTimeOf(process.ppid)
  assert.ok(startTime)
  assert.notEqual(startTime, await startTimeOf(process.pid))
  assert.equal(await isAlive({ pid: process.pid, startTime }), false)
})

test('the start time names the boot, so that a reboot cannot repeat it', {
  skip: process.platform !== 'linux',
}, async () => {
  const [boot] = (await startTimeOf(process.pid))?.split(':') ?? []
  assert.match(boot ?? '', /^[0-9a-f-]{36}$/)
})

test('a dead process, or an impossible pid, has no start time', async () => {
  const child = spawn('true')
  await once(child, 'exit')
  for (const pid of [child.pid ?? 0, 0, -1, 1.5, Number.NaN]) assert.equal(await startTimeOf(pid), undefined)
  // As from a truncated file: two unknown start times are not the same process.
  const cutOff = { pid: -1 } as ProcessIdentity
  assert.equal(await isAlive(cutOff), false)
})

test('a zombie is not alive', async t => {
  // The shell forks, becomes a sleep and never waits for its child, which ends only after that: a shell would have waited for it.
  const parent = spawn('/bin/sh', ['-c', 'cat <&3 & echo $!; exec sleep 600 3<&-'], {
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  t.after(() => parent.kill('SIGKILL'))
  const [line] = await once(parent.stdout as Readable, 'data')
  const pid = Number(String(line))
  const isSleep = () =>
    execFileSync('ps', ['-o', 'comm=', '-p', String(parent.pid)], { encoding: 'utf8' }).includes('sleep')
  while (!isSleep());
  ;(parent.stdio[3] as Writable).end()
  while ((await startTimeOf(pid)) !== undefined) await new Promise(resolve => setImmediate(resolve))
  process.kill(pid, 0) // throws unless the number is still taken
})

test('a program named with brackets and spaces cannot fake its start time', async t => {
  const program = join(tempDir(t), 'a) S 1 (b')
  copyFileSync('/bin/sleep', program)
  const child = spawn(program, ['600'])
  t.after(() => child.kill('SIGKILL'))
  await once(child, 'spawn')
  const sibling = spawn('sleep', ['600'])
  t.after(() => sibling.kill('SIGKILL'))
  await once(sibling, 'spawn')
  const ticks = async (pid = 0) => Number((await startTimeOf(pid))?.split(':')[1])
  assert.ok(Math.abs((await ticks(child.pid)) - (await ticks(sibling.pid))) < 1_000)
})
