import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionView } from '../../../src/domain/api.ts'
import { viewWhen } from '../daemon-process.ts'
import { inProcess } from '../in-process.ts'

const SCENARIO = `
conversations:
  - match: begin
    turns: [{ text: Begun. }]
    later:
      - match: go on
        turns: [{ text: Working., latency: 2500 }]
      - match: a copy
        turns: [{ text: Copied. }]
`

test('a conversation that a live session is in cannot be resumed a second time; a copy of it can', async t => {
  const world = await inProcess(t, SCENARIO)
  const first = await world.start('begin')
  const { vendor_id } = await viewWhen(world.daemon, first.id, ({ status }) => status === 'completed')
  assert.ok(vendor_id)
  const ask = (task: string, fork: boolean) =>
    world.daemon.call('POST', '/sessions', {
      body: { project: world.project, task, env: world.env, resume: { vendor_id, fork } },
    })
  const both = await Promise.all([ask('go on', false), ask('go on', false)])
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409])
  const live = both.find(({ status }) => status === 201)?.body as SessionView
  const refused = await ask('go on', false)
  assert.deepEqual([refused.status, refused.body.error.code], [409, 'conversation_live'])
  assert.match(refused.body.error.message, new RegExp(`${vendor_id}.*${live.id}`))
  assert.equal((await ask('a copy', true)).status, 201)
  await viewWhen(world.daemon, live.id, ({ status }) => status === 'completed')
  assert.equal((await ask('go on', false)).status, 201, 'and again when it is free')
})
