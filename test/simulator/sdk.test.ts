import assert from 'node:assert/strict'
import { test } from 'node:test'
import { query, type SDKUserMessage } from '@anthropic-ai/claude-agent-sdk'
import { openSimulator } from '../../src/simulator/open.ts'
import { agentEnv, gitProject, tempDir } from '../support/world.ts'

const SCENARIO = `
conversations:
  - name: choice
    match: choose a colour
    turns:
      - tools:
          - TodoWrite: { todos: [{ content: Ask, status: in_progress, activeForm: Asking }] }
      - tools:
          - AskUserQuestion:
              questions:
                - question: Which colour?
                  header: Colour
                  multiSelect: false
                  options: [{ label: Red, description: warm }, { label: Blue, description: cold }]
      - either:
          - when: { tool_result_contains: Blue }
            text: Blue it is.
          - text: Red then.
`

test('a question of the real agent reaches the person, and the answer decides the branch', async t => {
  await using simulator = await openSimulator({ text: SCENARIO })
  const asked: string[] = []
  const run = query({
    prompt: 'choose a colour',
    options: {
      cwd: gitProject(t),
      // Todo tools are offered only when listed, and without the variable the newer task tools are offered.
      env: { ...agentEnv(tempDir(t), simulator.url), CLAUDE_CODE_ENABLE_TASKS: '0' },
      permissionMode: 'default',
      tools: ['TodoWrite', 'AskUserQuestion'],
      settingSources: [],
      canUseTool: async (tool, input) => {
        asked.push(tool)
        return { behavior: 'allow', updatedInput: { ...input, answers: { 'Which colour?': 'Blue' } } }
      },
    },
  })
  let text = ''
  for await (const message of run) if (message.type === 'result' && message.subtype === 'success') text = message.result
  assert.equal(text, 'Blue it is.')
  assert.deepEqual(asked, ['AskUserQuestion'])
  assert.match(simulator.requests[1]?.tool_results[0]?.text ?? '', /Todos have been modified/)
})

test('a conversation of the real agent that was stopped before its first answer gets the first turn when it goes on', async t => {
  const text = JSON.stringify({
    conversations: [{ match: 'count', turns: [{ text: 'one', latency: 60_000 }, { text: 'two' }] }],
  })
  const quick = JSON.stringify({ conversations: [{ match: 'count', turns: [{ text: 'one' }, { text: 'two' }] }] })
  const options = { cwd: gitProject(t), settingSources: [] }
  const home = tempDir(t)
  await using slow = await openSimulator({ text })
  let id = ''
  const over = Promise.withResolvers<void>()
  const stopped = query({
    prompt: (async function* () {
      yield said('count')
      await over.promise
    })(),
    options: { ...options, env: agentEnv(home, slow.url) },
  })
  for await (const message of stopped) {
    if (message.type === 'system' && message.subtype === 'init') {
      id = message.session_id
      void stopped.interrupt()
    }
    if (message.type !== 'result') continue
    over.resolve()
    break
  }
  await using simulator = await openSimulator({ text: quick })
  const env = agentEnv(home, simulator.url)
  const goesOn = query({ prompt: 'go on', options: { ...options, env, resume: id } })
  let answer = ''
  for await (const message of goesOn)
    if (message.type === 'result' && message.subtype === 'success') answer = message.result
  assert.equal(answer, 'one')
})

function said(content: string): SDKUserMessage {
  return { type: 'user', message: { role: 'user', content }, parent_tool_use_id: null }
}
