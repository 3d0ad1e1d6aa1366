import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { openDoor } from '../../../src/agents/own-tools/door.ts'
import { findPlace, makePlace } from '../../../src/agents/own-tools/place.ts'
import { newTools, toolsLeft } from '../../../src/agents/tmux/own-tools.ts'
import { SeatFolder } from '../../../src/agents/tmux/seat.ts'
import { callDaemon } from '../../../src/cli/mcp/call-daemon.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { tempDir } from '../../support/world.ts'

const OPEN = { ownTools: ['log'] } as unknown as OpenSession
const SERVED = { names: ['log'] as const, listed: () => undefined, call: async () => ({ ok: true, text: 'done' }) }

test('tools of a window that outlived its daemon are found again where they were, under the same name', async t => {
  const folder = new SeatFolder(tempDir(t), 's-1')
  mkdirSync(folder.path, { recursive: true })
  const first = newTools(OPEN, folder)
  assert.ok(first)
  const before = await openDoor(first.place, SERVED)
  const left = toolsLeft(OPEN, folder)
  assert.deepEqual([left?.place, left?.own.server], [first.place, first.own.server])
  await before[Symbol.asyncDispose]()
  await using _again = await openDoor(first.place, SERVED)
  const { socket, token: capability } = first.place
  const listed = await callDaemon({ socket, capability, method: 'GET', path: '/agent/tools' })
  assert.deepEqual(listed, { tools: ['log'] })
  assert.notEqual(newTools(OPEN, folder)?.own.server, first.own.server, 'a new window has a new name')
})

test('a folder whose path is too long for a socket gets one elsewhere, that nobody else may enter', async t => {
  const folder = join(tempDir(t), 'x'.repeat(120))
  mkdirSync(folder)
  chmodSync(folder, 0o700)
  const place = makePlace(folder, 'pcc_1')
  const door = await openDoor(place, SERVED)
  assert.ok(existsSync(place.socket) && !place.socket.startsWith(folder))
  assert.deepEqual(findPlace(folder), place)
  await door[Symbol.asyncDispose]()
  assert.equal(existsSync(dirname(place.socket)), false)
})
