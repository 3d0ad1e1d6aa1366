import assert from 'node:assert/strict'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { openStore } from '../../src/store/open.ts'
import { tempDir } from '../support/world.ts'
import { launch, startDaemon } from './daemon-process.ts'
import { sharedDaemon } from './shared-daemon.ts'

const shared = sharedDaemon()

function linkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    return '' // closed since the listing
  }
}

const mode = (path: string) => lstatSync(path).mode & 0o777

test('the token, the Host and JSON are demanded on every route, and no other door exists', async () => {
  const daemon = await shared()
  const refusals = [
    { sent: { headers: { authorization: undefined } }, status: 401, code: 'unauthorized' },
    { sent: { headers: { authorization: 'Bearer wrong' } }, status: 401, code: 'unauthorized' },
    { sent: { headers: { authorization: 'Basic wrong' } }, status: 401, code: 'unauthorized' },
    { sent: { headers: { host: 'evil.example' } }, status: 421, code: 'wrong_host' },
    { sent: { headers: { host: 'pcc.evil.example' } }, status: 421, code: 'wrong_host' },
    { sent: { headers: { origin: 'http://localhost' } }, status: 421, code: 'wrong_host' },
  ]
  const routes: [string, string][] = [
    ['GET', '/sessions'],
    ['GET', '/sessions/x'],
    ['GET', '/sessions/x/events'],
    ['GET', '/events'],
    ['POST', '/sessions'],
    ['POST', '/sessions/x/stop'],
    ['POST', '/sessions/x/answers'],
    ['GET', '/escalations'],
    ['POST', '/escalations/1/answer'],
    ['POST', '/daemon/stop'],
    ['GET', '/nowhere'],
  ]
  for (const { sent, status, code } of refusals) {
    for (const [method, path] of routes) {
      const reply = await daemon.call(method, path, sent)
      assert.deepEqual(
        [reply.status, reply.body.error.code],
        [status, code],
        `${method} ${path} ${JSON.stringify(sent)}`,
      )
    }
  }
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    undefined,
  ]) {
    const reply = await daemon.call('POST', '/sessions', { raw: '{}', headers: { 'content-type': type } })
    assert.deepEqual([reply.status, reply.body.error.code], [415, 'bad_request'], String(type))
  }
  assert.equal((await daemon.call('GET', '/nowhere')).body.error.code, 'not_found')
  assert.equal((await daemon.call('DELETE', '/sessions')).body.error.code, 'not_found')
})

test('the daemon listens on no port', { skip: process.platform !== 'linux' && 'needs /proc' }, async () => {
  const daemon = await shared()
  const sockets = readdirSync(`/proc/${daemon.pid}/fd`)
    .map(fd => linkOf(`/proc/${daemon.pid}/fd/${fd}`))
    .flatMap(target => /^socket:\[(\d+)\]$/.exec(target)?.[1] ?? [])
  assert.ok(sockets.length > 0)
  const inodesOf = (table: string) =>
    readFileSync(`/proc/${daemon.pid}/net/${table}`, 'utf8')
      .split('\n')
      .map(line => line.trim().split(/\s+/)[9])
  const open = new Set([...inodesOf('tcp'), ...inodesOf('tcp6')])
  assert.deepEqual(
    sockets.filter(inode => open.has(inode)),
    [],
  )
})

test('health tells a stranger that it is up and nothing else', async () => {
  const daemon = await shared()
  const bare = await daemon.call('GET', '/health', { headers: { authorization: undefined } })
  assert.deepEqual(bare.body, { status: 'ok' })
  const full = await daemon.call('GET', '/health')
  assert.equal(full.body.pid, daemon.pid)
  assert.equal(full.body.home, daemon.paths.home)
  assert.deepEqual(full.body.sessions, { live: 0, total: 0 })
})

test('a body that is no JSON, too large, or not what the route takes is refused with the field named', async () => {
  const daemon = await shared()
  const broken = await daemon.call('POST', '/sessions', { raw: '{"project":' })
  assert.deepEqual([broken.status, broken.body.error.code], [400, 'bad_request'])
  const large = await daemon.call('POST', '/sessions', { raw: '"x"', headers: { 'content-length': '8000001' } })
  assert.deepEqual([large.status, large.body.error.code], [413, 'bad_request'])
  const typo = await daemon.call('POST', '/sessions', { body: { project: '/', task: 'x', env: {}, modle: 'y' } })
  assert.match(typo.body.error.message, /modle/)
  const missing = await daemon.call('POST', '/sessions', { body: { project: '/', task: 'x' } })
  assert.match(missing.body.error.message, /env/)
  const poisoned = await daemon.call('POST', '/sessions', {
    raw: '{"__proto__":{"x":1},"project":"/","task":"x","env":{}}',
  })
  assert.equal(poisoned.status, 400)
  const stop = await daemon.call('POST', '/daemon/stop', { body: { go_on: 'perhaps' } })
  assert.deepEqual([stop.status, stop.body.error.code], [400, 'bad_request'])
  const status = await daemon.call('GET', '/sessions?status=bogus')
  assert.equal(status.body.error.code, 'bad_request')
})

test('token, socket and directories can be entered by their owner alone', async () => {
  const { paths } = await shared()
  assert.equal(mode(paths.tokenFile), 0o600)
  assert.equal(mode(paths.socket), 0o600)
  for (const dir of [paths.home, paths.data, paths.run, paths.logs]) assert.equal(mode(dir), 0o700, dir)
})

test('the token stays the same over restarts, and is made anew once others could read it', async t => {
  const first = await startDaemon(t)
  const token = readFileSync(first.paths.tokenFile, 'utf8')
  await first.call('POST', '/daemon/stop')
  assert.equal(await first.ended, 0)
  const second = await startDaemon(t, { home: first.home })
  assert.equal(readFileSync(second.paths.tokenFile, 'utf8'), token)
  await second.call('POST', '/daemon/stop')
  await second.ended
  chmodSync(first.paths.tokenFile, 0o644)
  const third = await startDaemon(t, { home: first.home })
  assert.notEqual(readFileSync(third.paths.tokenFile, 'utf8'), token)
  assert.equal(mode(third.paths.tokenFile), 0o600)
})

test('whatever is not our socket in its place is left alone and refused', async t => {
  const home = tempDir(t)
  const { socket, run, database } = appPathsFor({ env: { PCC_HOME: `${home}/pcc` } })
  mkdirSync(run, { recursive: true })
  writeFileSync(socket, 'precious')
  const overFile = await launch(t, { home })
  assert.ok('error' in overFile.line)
  assert.equal(overFile.line.error.code, 'socket_occupied')
  assert.equal(await overFile.ended, 1)
  assert.equal(readFileSync(socket, 'utf8'), 'precious')

  rmSync(socket)
  {
    await using store = await openStore({ file: database })
    const row = { id: 's-000001', name: 'one', project: home, task: 't', agent: 'claude' }
    await store.sessions.insert({ ...row, state: 'running', owner: 'boot-elsewhere' })
  }
  const stranger = createServer()
  await new Promise<void>(resolve => stranger.listen(socket, resolve))
  const overListener = await launch(t, { home })
  assert.ok('error' in overListener.line)
  assert.equal(overListener.line.error.code, 'socket_occupied')
  await new Promise(resolve => stranger.close(resolve))
  {
    await using store = await openStore({ file: database })
    assert.equal((await store.sessions.get('s-000001'))?.state, 'running', 'who answers there keeps its sessions')
  }

  const free = await startDaemon(t, { home })
  assert.equal((await free.call('GET', '/health')).status, 200)
})

test('a long home gets a short socket in a closed directory of its owner', async t => {
  const home = join(tempDir(t), 'deep/'.repeat(30))
  mkdirSync(home, { recursive: true })
  const daemon = await startDaemon(t, { home })
  assert.ok(Buffer.byteLength(daemon.paths.socket) < 100)
  assert.equal(mode(dirname(daemon.paths.socket)), 0o700)
  assert.equal((await daemon.call('GET', '/health')).body.status, 'ok')
  await daemon.call('POST', '/daemon/stop')
  assert.equal(await daemon.ended, 0)
  assert.equal(lstatSync(daemon.paths.socket, { throwIfNoEntry: false }), undefined)
})

test('a shared socket directory that is a link or open to others is not used', async t => {
  const { makeDirectories } = await import('../../src/daemon/startup.ts')
  const base = tempDir(t)
  const paths = { ...appPathsFor({ env: { PCC_HOME: join(base, 'h') } }), socket: join(base, 'shared', 'x.sock') }
  makeDirectories(paths)
  assert.equal(mode(join(base, 'shared')), 0o700)
  chmodSync(join(base, 'shared'), 0o755)
  assert.throws(() => makeDirectories(paths), { code: 'socket_occupied' })
  rmSync(join(base, 'shared'), { recursive: true })
  mkdirSync(join(base, 'elsewhere'), { mode: 0o700 })
  symlinkSync(join(base, 'elsewhere'), join(base, 'shared'))
  assert.throws(() => makeDirectories(paths), { code: 'socket_occupied' })
})

test('a path that cannot be read is refused like anything else, in the same form', async () => {
  const daemon = await shared()
  const reply = await daemon.call('GET', '/sessions/%')
  assert.deepEqual([reply.status, reply.body.error.code], [400, 'bad_request'])
})
