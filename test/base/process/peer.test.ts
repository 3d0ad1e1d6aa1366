import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import {
  findSystemProgram,
  holdsOtherEnd,
  identifyPeers,
  isFromMarked,
  openSharedLists,
} from '../../../src/base/process/peer.ts'
import { runShort, type ShortCommand, type ShortCommandResult } from '../../../src/base/process/run-short.ts'
import { tempDir } from '../../support/world.ts'

const SKIP = process.platform === 'linux' ? false : 'other systems do not tell who connects'

/** Our end of a connection from a child of this process. */
async function connected(t: TestContext, env: Record<string, string> = {}, shell = 'exec "$@"') {
  const path = join(tempDir(t), 's')
  const server = createServer().listen(path)
  t.after(() => server.close())
  await once(server, 'listening')
  const client = [process.execPath, '-e', 'require("node:net").connect(process.argv[1])', path]
  const child = spawn('/bin/bash', ['-c', shell, 'bash', ...client], { env })
  const [socket] = (await once(server, 'connection')) as [Socket]
  t.after(async () => {
    socket.destroy()
    child.kill()
  })
  return { socket, child }
}

test('a process that we started is known as one of ours, with the marks that it carries', { skip: SKIP }, async t => {
  const { socket, child } = await connected(t, { PCC_SESSION_MARK: 'mark-1' })
  const [peer] = await identifyPeers(socket, process.env)
  assert.ok(peer?.kind === 'process')
  assert.deepEqual([peer.pid, peer.ours, [...peer.values]], [child.pid, true, ['mark-1']])
  assert.deepEqual([await isFromMarked(socket, 'mark-1'), await isFromMarked(socket, 'mark-2')], [true, false])
})

test('however many processes lie between a marked one and the one that speaks, the mark is found', {
  skip: SKIP,
}, async t => {
  // A hundred and twenty shells, each the child of the one before; the last one empties its environment.
  const deep = 'f() { n=$1; shift; if [ $n -gt 0 ]; then (f $((n - 1)) "$@"; true); else env -i "$@"; fi; }; f 120 "$@"'
  const { socket } = await connected(t, { PCC_SESSION_MARK: 'mark-1', PATH: '/usr/bin:/bin' }, deep)
  const [peer] = await identifyPeers(socket, process.env)
  assert.ok(peer?.kind === 'process')
  assert.deepEqual([...peer.values], ['mark-1'])
})

test('the process that holds the other end of a connection to a port is known, and no other is taken for it', {
  skip: SKIP,
}, async t => {
  const server = createServer().listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const connect = () => spawn('/bin/bash', ['-c', `exec 5<>/dev/tcp/127.0.0.1/${port}; read`])
  const [holder, other] = [connect(), connect()]
  t.after(() => [holder, other].map(child => child.kill()))
  const sockets: Socket[] = []
  server.on('connection', socket => sockets.push(socket))
  while (sockets.length < 2) await once(server, 'connection')
  t.after(() => sockets.map(socket => socket.destroy()))
  const held = (pid: number | undefined) => sockets.map(socket => holdsOtherEnd(pid ?? 0, socket))
  assert.deepEqual(held(holder.pid).toSorted(), [false, true])
  assert.deepEqual(
    held(other.pid),
    held(holder.pid).map(one => !one),
  )
  assert.deepEqual([held(process.pid), held(0)], Array(2).fill([false, false]))
})

test('an address of this machine with the same number of a port is another end', { skip: SKIP }, async t => {
  const server = createServer().listen(0, '::')
  t.after(() => server.close())
  const sockets: Socket[] = []
  server.on('connection', socket => sockets.push(socket))
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const join = async (child: ChildProcess, ends: number) => {
    t.after(() => child.kill())
    while (sockets.length < ends) await once(server, 'connection')
    return child.pid ?? 0
  }
  // As in `connect(…)`: from which address and port, to which address.
  const connect = (localAddress: string, localPort: number, host: string) =>
    spawn(process.execPath, [
      ...['-e', 'require("node:net").connect(JSON.parse(process.argv[1]))'],
      JSON.stringify({ localAddress, localPort, host, port }),
    ])
  const person = await join(connect('127.0.0.1', 0, '127.0.0.1'), 1)
  const number = sockets[0]?.remotePort ?? 0
  const [other, sixth] = [
    await join(connect('127.0.0.2', number, '127.0.0.1'), 2),
    await join(connect('::1', number, '::1'), 3),
  ]
  t.after(() => sockets.map(socket => socket.destroy()))
  const held = (pid: number) => sockets.map(socket => holdsOtherEnd(pid, socket))
  assert.deepEqual(
    [held(person), held(other), held(sixth)],
    [
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ],
  )
})

test('who is gone when it is looked at is nobody', { skip: SKIP }, async t => {
  const { socket, child } = await connected(t)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.deepEqual(await identifyPeers(socket, process.env), [{ kind: 'gone' }])
})

test('a process that is gone when it is looked at, as one is that was about to start a program, makes pcc ask again', {
  skip: SKIP,
}, async t => {
  const { socket, child } = await connected(t)
  const over = spawn('true')
  await once(over, 'exit')
  let lists = 0
  const run = async (command: ShortCommand) => {
    const list = await runShort(command)
    // At first the list also has a process that has ended by now.
    const stdout = list.stdout.replaceAll(`pid=${child.pid},`, `pid=${over.pid},fd=9),("node",pid=${child.pid},`)
    return lists++ === 0 ? { ...list, stdout } : list
  }
  const [peer, ...others] = await identifyPeers(socket, process.env, { run })
  assert.ok(peer?.kind === 'process', 'it is known')
  assert.deepEqual([peer.pid, others.length, lists], [child.pid, 0, 2])
})

test('a list that fails proves nobody a person, and without a list nobody is known', { skip: SKIP }, async t => {
  const { socket } = await connected(t)
  assert.deepEqual(await identifyPeers(socket, {}, { findList: () => '/bin/false' }), [{ kind: 'gone' }])
  assert.deepEqual(
    await identifyPeers(socket, {}, { findList: () => '/bin/echo' }),
    [{ kind: 'gone' }],
    'a list without the connection',
  )
  assert.equal((await identifyPeers(socket, {}, { findList: () => undefined }))[0]?.kind, 'unknown')
})

test('the program that tells who speaks is taken only where root alone can write it', { skip: SKIP }, t => {
  const folder = tempDir(t)
  writeFileSync(join(folder, 'ss'), '#!/bin/sh\n')
  chmodSync(join(folder, 'ss'), 0o755)
  symlinkSync('/bin/true', join(folder, 'linked'))
  const find = (name: string, path = folder, folders: string[] = []) => findSystemProgram(name, { PATH: path }, folders)
  assert.equal(find('ss'), undefined)
  assert.equal(find('ss', folder, [folder]), undefined, 'a folder that others can write to')
  assert.equal(find('linked', folder, [folder]), undefined, 'the name counts too, not only where it leads')
  assert.equal(find('ss', `.:${folder}`), undefined)
  assert.equal(find('true', folder, ['/bin']), '/bin/true')
})

test('who asks while a list is made shares the next one with all who wait, and no list is older than the question', async () => {
  const started: PromiseWithResolvers<ShortCommandResult>[] = []
  const run = openSharedLists(() => {
    const list = Promise.withResolvers<ShortCommandResult>()
    started.push(list)
    return list.promise
  })
  const command = { command: 'ss', args: ['-x'], cwd: '/', env: {}, timeoutMs: 1, maxBytes: 1 }
  const listed = (stdout: string) => ({ code: 0, signal: null, stdout, stderr: '', timedOut: false, truncated: false })
  const first = run(command)
  const waiting = [run(command), run(command), run(command)]
  const other = run({ ...command, args: ['-t'] })
  assert.equal(started.length, 2, 'one for each kind of list')
  started[0]?.resolve(listed('old'))
  assert.equal((await first).stdout, 'old')
  const late = run(command)
  assert.equal(started.length, 3)
  started[2]?.resolve(listed('new'))
  assert.deepEqual(
    (await Promise.all(waiting)).map(({ stdout }) => stdout),
    Array(3).fill('new'),
  )
  started[3]?.resolve(listed('newer'))
  assert.equal((await late).stdout, 'newer', 'it asked when that one had begun')
  started[1]?.reject(new Error('broken'))
  await assert.rejects(other, /broken/)
})
