import assert from 'node:assert/strict'
import { cpSync, mkdirSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { agentSessions, bodiesOf, isEnd } from '../daemon/agent-sessions.ts'
import { makeRepository, tempDir } from '../support/world.ts'

const ROOT = new URL('../../', import.meta.url).pathname

const QUESTION = 'Where is the graph of task dependencies checked for cycles?'

const SCENARIO = `
conversations:
  - match: graph of task dependencies
    turns:
      - tools: [{ mcp__pcc__search_code: { query: ${QUESTION} } }]
      - text: "{{last_tool_result}}"
`

test('an agent that works on a copy of this repository answers a question about the code from search_code', async t => {
  const project = realpathSync(tempDir(t, 'pcc-copy-'))
  for (const folder of ['src/policy/classify', 'src/tasks', 'docs']) {
    mkdirSync(join(project, folder), { recursive: true })
    cpSync(join(ROOT, folder), join(project, folder), { recursive: true })
  }
  makeRepository(project)
  const env = { PCC_KNOWLEDGE_ENABLED: 'true', PCC_KNOWLEDGE_AUTO_INDEX: 'false' }
  const { daemon, start, log } = await agentSessions(t, SCENARIO, { env })
  const indexed = await daemon.call('POST', '/code/index', { body: { project } })
  assert.equal(indexed.status, 200, JSON.stringify(indexed.body))
  const { id } = await start(QUESTION, { project })
  const stream = await daemon.stream(`/events?session=${id}`)
  await stream.until(isEnd)
  stream.close()
  const events = await log(id)
  const [answer] = bodiesOf(events, 'agent.said')
  const right = /^Index at commit [0-9a-f]{8}\n\nsrc\/tasks\/graph\.ts:\d+-\d+ /
  assert.match(answer?.text ?? '', right)
  const [asked] = bodiesOf(events, 'permission.decided')
  assert.deepEqual([asked?.tool, asked?.verdict, asked?.risk], ['mcp__pcc__search_code', 'allow', 'LOW'])
})
