import assert from 'node:assert/strict'
import { appendFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { claudeTmux } from '../adapters/claude-tmux.ts'
import { ALLOW, asking, DENY, World } from '../conformance/world.ts'

/** Claude Code's record of a successful call. */
function unasked(agentId: string): string {
  const content = [{ type: 'tool_result', tool_use_id: 'toolu_unasked', content: 'done', is_error: false }]
  return `${JSON.stringify({ type: 'user', isSidechain: true, agentId, message: { role: 'user', content } })}\n`
}

test('calls of a subagent are judged like all others, and one in its record that was not ends the session', async t => {
  const steps = ['touch helper.txt', 'touch forbidden.txt', 'sleep 600'].map(run => ({ calls: [{ run }] }))
  const world = await World.open(t, claudeTmux, [
    { prompt: 'let a helper work', steps: [{ calls: [{ delegate: 'Make the helper file.' }] }, { say: 'Done.' }] },
    { prompt: 'Make the helper file', steps: [...steps, { say: 'Made.' }] },
  ])
  const projects = join(world.home, '.claude', 'projects')
  const asks = asking(({ input, agentId }) => {
    const command = String(input['command'] ?? '')
    if (command.includes('forbidden')) return DENY
    if (command.startsWith('sleep')) {
      const names = readdirSync(projects, { recursive: true, encoding: 'utf8' })
      const record = names.find(name => name.endsWith(`agent-${agentId}.jsonl`))
      assert.ok(record, `there is a record of ${agentId}: ${names.join(' ')}`)
      appendFileSync(join(projects, record), unasked(String(agentId)))
    }
    return ALLOW
  })
  const talk = await world.talk('let a helper work', { asks })
  const { failure } = await talk.until('ended')
  assert.match(failure?.message ?? '', /A tool call ran without being judged.*toolu_unasked/)
  const [delegated, ...helpers] = asks.requests
  assert.equal(delegated?.agentId, undefined)
  assert.equal(helpers.length, 3)
  assert.equal(new Set(helpers.map(({ agentId }) => agentId)).size, 1)
  assert.ok(helpers[0]?.agentId)
  assert.deepEqual([world.has('helper.txt'), world.has('forbidden.txt')], [true, false])
})
