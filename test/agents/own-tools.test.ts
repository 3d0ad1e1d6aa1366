import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import {
  createEndpoint,
  createToolEndpoint,
  findToolEndpoint,
  openSessionServer,
  sweepEndpoints,
} from '../../src/agents/own-tools-server.ts'
import { createTools, restoreTools } from '../../src/agents/tmux/launch.ts'
import { TmuxSessionFolder } from '../../src/agents/tmux/session-folder.ts'
import { callDaemon } from '../../src/cli/commands/mcp-serve.ts'
import type { OpenSession } from '../../src/domain/session.ts'
import { tempDir } from '../support/world.ts'

const OPEN = { ownTools: ['log'] } as unknown as OpenSession
const SERVED = { names: ['log'] as const, listed: () => undefined, call: async () => ({ ok: true, text: 'done' }) }

test('tools of a window that outlived its daemon are found again where they were, under the same name', async t => {
  const folder = new TmuxSessionFolder(tempDir(t), 's-1')
  mkdirSync(folder.path, { recursive: true })
  const first = createTools(OPEN, folder, createEndpoint(folder.path))
  assert.ok(first)
  const before = await openSessionServer(first.endpoint, { tools: SERVED })
  const left = restoreTools(OPEN, folder)
  assert.deepEqual([left?.endpoint, left?.own.server], [first.endpoint, first.own.server])
  await before[Symbol.asyncDispose]()
  await using _again = await openSessionServer(first.endpoint, { tools: SERVED })
  const { socket, token: capability } = first.endpoint
  const listed = await callDaemon({ socket, capability, method: 'GET', path: '/agent/tools' })
  assert.deepEqual(listed, { tools: ['log'] })
  assert.notEqual(
    createTools(OPEN, folder, createEndpoint(folder.path))?.own.server,
    first.own.server,
    'a new window has a new name',
  )
})

test('a folder whose path is too long for a socket gets one elsewhere, that nobody else may enter', async t => {
  const folder = join(tempDir(t), 'x'.repeat(120))
  mkdirSync(folder)
  chmodSync(folder, 0o700)
  const place = createToolEndpoint(folder, 'pcc_1')
  const door = await openSessionServer(place, { tools: SERVED })
  assert.ok(existsSync(place.socket) && !place.socket.startsWith(folder))
  assert.equal(statSync(place.socket).mode & 0o777, 0o600)
  assert.deepEqual(findToolEndpoint(folder), place)
  await door[Symbol.asyncDispose]()
  assert.equal(existsSync(dirname(place.socket)), false)
})

test('the folder of a server that is gone is removed; one that answers, or may soon, stays', async t => {
  const made = [1, 2, 3].map(() => mkdtempSync(join(tmpdir(), 'pcc-tools-')))
  t.after(() => {
    for (const folder of made) rmSync(folder, { recursive: true, force: true })
  })
  const [left = '', used = '', fresh = ''] = made
  await using _server = await openSessionServer(createEndpoint(used), { tools: SERVED })
  const old = Date.now() / 1000 - 600
  for (const folder of [left, used]) utimesSync(folder, old, old)
  await sweepEndpoints()
  assert.deepEqual([left, used, fresh].map(existsSync), [false, true, true])
})

test("a session's own socket serves its hooks and tools and no other route, and nothing without its token", async t => {
  const endpoint = createEndpoint(tempDir(t))
  const hook = async ({ event }: { event: string }) => ({ heard: event })
  await using _server = await openSessionServer(endpoint, { tools: SERVED, hook })
  const call = (path: string, capability = endpoint.token) =>
    callDaemon({ socket: endpoint.socket, capability, method: 'POST', path, body: {} })
  assert.deepEqual(await call('/hooks/claude/Stop'), { reply: { heard: 'Stop' } })
  for (const path of ['/escalations/1/answer', '/sessions', '/hooks/claude/../Stop', '/agent/tools/done'])
    await assert.rejects(call(path), path)
  await assert.rejects(call('/hooks/claude/Stop', 'wrong'), /unauthorized/)
})
