import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { test } from 'node:test'
import { agentSessions } from '../daemon/agent-sessions.ts'
import { callerWith, LISTENING } from '../daemon/api/api-world.ts'
import { viewWhen } from '../daemon/daemon-process.ts'

const BUBBLEWRAP = '/usr/bin/bwrap'
const LIST = '/usr/bin/ss'
/** Starts a program that sees the whole machine, except for the program that tells who speaks. */
const BLIND = [BUBBLEWRAP, '--dev-bind', '/', '/', '--ro-bind', '/dev/null', LIST, '--die-with-parent', '--']
const SKIP = existsSync(BUBBLEWRAP) && existsSync(LIST) ? false : 'it needs bubblewrap and ss'

const SCENARIO = `
conversations:
  - match: Remove the documents
    turns:
      - tools: [{ Bash: { command: rm -rf ../documents, description: remove } }]
      - text: Removed.
`

test('where nobody can tell who speaks, no way approves a HIGH request, not even a key, and refusing is open to all', {
  skip: SKIP,
}, async t => {
  const waits = { ...LISTENING, PCC_PERMISSIONS_UNATTENDED_HIGH: 'wait' }
  const { daemon, start, env } = await agentSessions(t, SCENARIO, { env: waits, wrapper: BLIND })
  const { id } = await start('Remove the documents')
  const { asks } = await viewWhen(daemon, id, ({ status }) => status === 'waiting_input')
  const answer = (verdict: string) =>
    daemon.call('POST', `/sessions/${id}/answers`, { body: { ask_id: asks[0]?.ask_id, verdict, env } })
  const byNumber = await daemon.call('POST', '/escalations/1/answer', { body: { verdict: 'allow', env } })
  for (const reply of [await answer('allow'), byNumber])
    assert.deepEqual([reply.status, reply.body.error?.code], [403, 'speaker_unknown'])
  const { call } = await callerWith(daemon, { scope: 'admin' })
  const body = { ask_id: asks[0]?.ask_id, verdict: 'allow' }
  for (const reply of [
    await call('POST', `/sessions/${id}/answers`, { body }),
    await call('POST', '/escalations/1/answer', { body: { verdict: 'allow' } }),
    await daemon.call('POST', '/api/v1/escalations/1/answer', { body: { verdict: 'allow' } }),
  ])
    assert.deepEqual([reply.status, reply.body.code], [403, 'speaker_unknown'])
  assert.equal((await answer('deny')).status, 200)
})
