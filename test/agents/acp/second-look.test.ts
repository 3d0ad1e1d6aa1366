import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isReadOnlyCommand } from '../../../src/agents/acp/tool-names.ts'
import { AcpTranslator } from '../../../src/agents/acp/translator.ts'
import type { AgentManifest } from '../../../src/domain/agent-manifest.ts'
import { claudeAcpAgent } from '../../../src/domain/agents/claude-acp.ts'
import { geminiAgent } from '../../../src/domain/agents/gemini.ts'
import { opencodeAgent } from '../../../src/domain/agents/opencode.ts'
import { asking, DENY } from '../conformance/world.ts'
import type { AgentStep } from './scripted-agent.ts'
import { PLAIN, stage } from './stage.ts'

const END = { answer: { stopReason: 'end_turn' } }
const EVERY: Partial<AgentManifest> = { hold: 'every-call' }
const WRITES: Partial<AgentManifest> = { hold: 'writes', tools: geminiAgent.tools }

function call(about: Record<string, unknown>): AgentStep {
  return { update: { sessionUpdate: 'tool_call', toolCallId: 'b1', kind: 'execute', title: 'make', ...about } }
}

function ended(status: string | undefined, about: Record<string, unknown> = {}): AgentStep {
  return { update: { sessionUpdate: 'tool_call_update', toolCallId: 'b1', ...(status && { status }), ...about } }
}

function permission(toolCallId = 'b1'): AgentStep {
  const options = [
    { optionId: 'yes', kind: 'allow_once' },
    { optionId: 'no', kind: 'reject_once' },
  ]
  const toolCall = { toolCallId, kind: 'execute', rawInput: { command: 'date' } }
  return { ask: 'session/request_permission', params: { toolCall, options } }
}

/** The outcome of the second check when every ask is allowed. */
function unjudged(manifest: Partial<AgentManifest>, steps: AgentStep[]): string | undefined {
  const translator = new AcpTranslator({ ...PLAIN, ...manifest }, { resumed: false })
  for (const step of steps) {
    if ('update' in step) translator.read(step.update as { sessionUpdate: string })
    if (!('ask' in step)) continue
    const { toolCallId } = translator.calls.ask(step.params['toolCall'] as { toolCallId: string })
    translator.calls.allow(toolCallId)
  }
  return translator.unjudged
}

const RUNS = call({ status: 'in_progress', rawInput: { command: 'rm -rf build; false' } })

const BREACHES: [string, Partial<AgentManifest>, AgentStep[]][] = [
  ['failed', EVERY, [RUNS, ended('failed', { rawOutput: 'Exit code 1' })]],
  ['has an end that the protocol does not know', EVERY, [RUNS, ended('cancelled')]],
  ['printed something and has no end', EVERY, [RUNS, ended(undefined, { rawOutput: 'Exit code 1' })]],
  [
    'bears the id of one that was allowed before',
    EVERY,
    [permission(), ended('completed'), call({ rawInput: { command: 'rm -rf ~' }, status: 'completed' })],
  ],
  [
    'failed under the id of one that was allowed before',
    EVERY,
    [permission(), ended('completed'), call({ status: 'in_progress' }), ended('failed')],
  ],
  [
    'is not known to be given up by the agent before it asks',
    { ...EVERY, tools: { ...PLAIN.tools, failsUnasked: opencodeAgent.tools.failsUnasked ?? {} } },
    [RUNS, ended('failed', { rawOutput: 'Exit code 1' })],
  ],
  ['wrote, of an agent that asks about writes', WRITES, [call({ kind: 'edit' }), ended('completed')]],
  ['deleted', WRITES, [call({ kind: 'delete' }), ended('completed')]],
  ['moved', WRITES, [call({ kind: 'move' }), ended('completed')]],
  [
    'was a write by its name alone',
    WRITES,
    [call({ toolCallId: 'write_file-1', kind: 'other', status: 'completed', locations: [{ path: '/p/a' }] })],
  ],
  [
    'was a command that does more than read',
    WRITES,
    [call({ toolCallId: 'run_shell_command-1', title: 'rm -rf x', status: 'completed' })],
  ],
]

for (const [what, manifest, steps] of BREACHES)
  test(`a breach is seen in an unasked call that ${what}`, () => assert.notEqual(unjudged(manifest, steps), undefined))

for (const [what, at] of [
  ['did something and failed', 0],
  ['wrote', 6],
] as const)
  test(`the session of an unasked call that ${what} is ended`, async t => {
    const [, manifest = {}, steps = []] = BREACHES[at] ?? []
    const { talk } = await stage(t, { prompt: [...steps, { hang: true }] }, { manifest })
    const { outcome, failure } = await talk.turn()
    assert.equal(outcome, 'failed')
    assert.match(failure?.message ?? '', /^A tool call ran without being judged/)
    assert.equal((await talk.until('ended')).reason, 'failed')
  })

test('a session is ended by a call that ran though it was refused', async t => {
  const asks = asking(() => DENY)
  const steps = [permission(), ended('completed'), { hang: true as const }]
  const { talk } = await stage(t, { prompt: steps }, { manifest: EVERY, open: { asks } })
  assert.match((await talk.turn()).failure?.message ?? '', /^A tool call ran without being judged/)
})

const claude = { ...EVERY, tools: { ...PLAIN.tools, failsUnasked: claudeAcpAgent.tools.failsUnasked ?? {} } }
const opencode = { ...EVERY, tools: { ...opencodeAgent.tools } }
const WELL: [string, Partial<AgentManifest>, AgentStep[]][] = [
  ['was allowed, and failed', EVERY, [permission(), ended('failed')]],
  ['is told to be over twice', EVERY, [permission(), ended('completed'), ended('completed')]],
  ['had wrong input', claude, [RUNS, ended('failed', { rawOutput: '<tool_use_error>No such tool</tool_use_error>' })]],
  ['found nothing to replace', opencode, [call({ kind: 'edit' }), ended('failed', { rawOutput: 'not found' })]],
  ['never began', EVERY, [call({ status: 'pending', rawInput: { command: 'make' } })]],
  ['only read', WRITES, [call({ toolCallId: 'run_shell_command-1', title: 'cat a | wc -l', status: 'completed' })]],
  ['only searched', WRITES, [call({ toolCallId: 'glob-1', kind: 'search', status: 'completed' })]],
  ['wrote down a plan', WRITES, [call({ toolCallId: 'write_todos-1', kind: 'other', status: 'completed' })]],
]

for (const [what, manifest, steps] of WELL)
  test(`no breach is seen in a call that ${what}`, () => assert.equal(unjudged(manifest, steps), undefined))

test('calls that fall with a refused one beside them do not end the session', async t => {
  const beside = { toolCallId: 'b2' }
  const steps = [
    call({ ...beside, status: 'in_progress' }),
    permission(),
    ended('failed'),
    ended('failed', beside),
    END,
  ]
  const { talk } = await stage(t, { prompt: steps }, { manifest: EVERY, open: { asks: asking(() => DENY) } })
  assert.equal((await talk.turn()).outcome, 'completed')
})

test('an agent that shortens its conversation has been told how to say so, and the session goes on', async t => {
  const compaction = (status: string) => ({
    update: { sessionUpdate: 'compaction_update', compactionId: 'c1', status },
  })
  const steps = [compaction('in_progress'), compaction('completed'), END]
  const { talk, heard } = await stage(t, { prompt: steps }, { manifest: EVERY })
  assert.equal((await talk.turn()).outcome, 'completed')
  const hello = heard().find(({ method }) => method === 'initialize')?.params
  assert.partialDeepStrictEqual(hello, { clientCapabilities: { session: { compaction: {} } } })
})

test('a line is known to read only by every program in it', () => {
  const reading = ['cat a', 'ls -la && pwd', 'grep "a|b" x | head -3', "grep 'x > y' f", 'git status', 'sed -n 1,5p a']
  const doing = [
    ...['rm x', 'cat a > b', 'cat $(rm x)', 'cat `rm x`', 'ls; rm x', 'ls & rm x', 'find . -delete', 'git push', ''],
    ...['git branch -D x', 'sed -i s/a/b/ x', 'echo "$(rm x)"', 'cat a\nrm b', 'git -c x=y status', "cat 'a"],
  ].filter(Boolean)
  assert.deepEqual(
    reading.filter(line => !isReadOnlyCommand(line)),
    [],
  )
  assert.deepEqual(doing.filter(isReadOnlyCommand), [])
})
