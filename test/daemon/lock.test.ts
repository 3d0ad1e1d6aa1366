import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { AppError } from '../../src/base/errors.ts'
import { startTimeOf } from '../../src/base/process/process-table.ts'
import { readLockHolder, takeLock } from '../../src/daemon/lock.ts'
import '../support/full-disk.ts'
import { tempDir } from '../support/world.ts'
import { launch, startDaemon } from './daemon-process.ts'

test('of twenty daemons started at once exactly one comes up and the others say which', async t => {
  const home = tempDir(t)
  const starters = await Promise.all(Array.from({ length: 20 }, () => launch(t, { home })))
  const winners = starters.filter(({ line }) => 'ready' in line)
  assert.equal(winners.length, 1)
  const losers = starters.filter(({ line }) => 'error' in line)
  const pid = winners[0]?.line && 'ready' in winners[0].line ? winners[0].line.pid : 0
  for (const { line, ended } of losers) {
    assert.ok('error' in line)
    assert.equal(line.error.code, 'daemon_running')
    assert.match(line.error.message, new RegExp(`pid ${pid}`))
    assert.equal(await ended, 1)
  }
})

test('a daemon killed without warning leaves a lock that the next one takes', async t => {
  const first = await startDaemon(t)
  first.child.kill('SIGKILL')
  await first.ended
  const second = await startDaemon(t, { home: first.home })
  assert.notEqual(second.pid, first.pid)
  assert.equal((await second.call('GET', '/health')).body.status, 'ok')
})

test('a holder whose pid was given to another process since is not alive', async t => {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  mkdirSync(paths.data, { recursive: true })
  await using first = await takeLock(paths, 'boot-1')
  const db = new DatabaseSync(join(paths.data, 'lock.db'))
  db.exec(`update holder set start_time = '${first.holder.start_time}0'`)
  db.close()
  const second = await takeLock(paths, 'boot-2')
  assert.equal(second.holder.boot_id, 'boot-2')
  assert.equal(second.holder.start_time, await startTimeOf(process.pid))
  second.release()
})

test('a daemon that was taken for dead does not release the lock of the one that took its place', async t => {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  mkdirSync(paths.data, { recursive: true })
  const first = await takeLock(paths, 'boot-1')
  const db = new DatabaseSync(join(paths.data, 'lock.db'))
  db.exec(`update holder set start_time = 'long ago'`)
  db.close()
  const second = await takeLock(paths, 'boot-2')
  first.release()
  assert.equal(readLockHolder(paths)?.boot_id, 'boot-2')
  await assert.rejects(takeLock(paths, 'boot-3'), { code: 'daemon_running' })
  second.release()
  assert.equal(readLockHolder(paths), undefined)
})

test('of many that find the same dead holder one takes its place', async t => {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  mkdirSync(paths.data, { recursive: true })
  const first = await takeLock(paths, 'boot-1')
  const db = new DatabaseSync(join(paths.data, 'lock.db'))
  db.exec(`update holder set start_time = 'long ago'`)
  db.close()
  const tries = await Promise.allSettled(Array.from({ length: 30 }, (_, n) => takeLock(paths, `boot-${n + 2}`)))
  const won = tries.flatMap(one => (one.status === 'fulfilled' ? [one.value] : []))
  assert.equal(won.length, 1)
  for (const one of tries) if (one.status === 'rejected') assert.equal(one.reason.code, 'daemon_running')
  for (const lock of [first, ...won]) lock.release()
})

test('a lock that is held is refused, and free again once released', async t => {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  mkdirSync(paths.data, { recursive: true })
  const first = await takeLock(paths, 'boot-1')
  await assert.rejects(takeLock(paths, 'boot-2'), error => error instanceof AppError && error.code === 'daemon_running')
  first.release()
  const second = await takeLock(paths, 'boot-2')
  first.release()
  await assert.rejects(takeLock(paths, 'boot-3'), error => error instanceof AppError && error.code === 'daemon_running')
  second.release()
})

test('the same data under another home, or through a link, has the same lock', async t => {
  const home = tempDir(t)
  const paths = appPathsFor({ env: { PCC_HOME: home } })
  mkdirSync(paths.data, { recursive: true })
  symlinkSync(paths.data, join(home, 'link'))
  await using _held = await takeLock(paths, 'boot-1')
  for (const dataDir of [paths.data, join(home, 'link')]) {
    const other = appPathsFor({ env: { PCC_HOME: join(home, 'other') }, dataDir })
    mkdirSync(other.run, { recursive: true })
    await assert.rejects(takeLock(other, 'boot-2'), { code: 'daemon_running' })
  }
})

test('a lock file that is no lock is left alone and named', async t => {
  const home = tempDir(t)
  const { data } = appPathsFor({ env: { PCC_HOME: `${home}/pcc` } })
  mkdirSync(data, { recursive: true })
  writeFileSync(join(data, 'lock.db'), 'this is not a database, it is a note')
  const { line, ended } = await launch(t, { home })
  assert.ok('error' in line)
  assert.equal(line.error.code, 'daemon_unreachable')
  assert.match(line.error.message, /lock\.db/)
  assert.equal(await ended, 1)
  assert.match(readFileSync(join(data, 'lock.db'), 'utf8'), /it is a note/)
})

test('on a full disk the lock is refused in the words of the disk, and taken as soon as there is room', async t => {
  const home = tempDir(t)
  const paths = appPathsFor({ env: { PCC_HOME: home } })
  mkdirSync(paths.data, { recursive: true })
  const full = join(home, 'full')
  process.env['PCC_FULL_WHILE'] = full
  t.after(() => {
    delete process.env['PCC_FULL_WHILE']
  })
  const isRefused = (error: unknown) =>
    error instanceof AppError && error.code === 'store_unusable' && /the disk is full/.test(error.message)
  writeFileSync(full, '')
  await assert.rejects(takeLock(paths, 'boot-1'), isRefused)
  rmSync(full)
  const first = await takeLock(paths, 'boot-1')
  first.release()
  writeFileSync(full, '')
  // A row that needs one more page: SQLite fails inside the transaction and rolls it back by itself.
  const long = `boot-${'2'.repeat(20_000)}`
  await assert.rejects(takeLock(paths, long), isRefused)
  rmSync(full)
  const second = await takeLock(paths, long)
  assert.equal(second.holder.boot_id, long)
  second.release()
})

test('the lock can be opened by its owner alone', async t => {
  const paths = appPathsFor({ env: { PCC_HOME: tempDir(t) } })
  mkdirSync(paths.data, { recursive: true })
  await using _lock = await takeLock(paths, 'boot-1')
  assert.equal(statSync(join(paths.data, 'lock.db')).mode & 0o777, 0o600)
})
