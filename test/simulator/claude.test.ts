import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openSimulator } from '../../src/simulator/open.ts'
import { gitProject, tempDir } from '../support/world.ts'
import { runClaude } from './claude.ts'

const EXAMPLES = join(import.meta.dirname, '../../examples')

test('the real Claude Code works through examples/hello.yaml: text, thinking, parallel tools, usage', async t => {
  await using simulator = await openSimulator({ file: join(EXAMPLES, 'hello.yaml') })
  const cwd = gitProject(t)
  const run = await runClaude({
    url: simulator.url,
    home: tempDir(t),
    cwd,
    prompt: 'Write a greeting to hello.txt',
    args: ['--permission-mode', 'acceptEdits', '--allowedTools', 'Bash', '--include-partial-messages'],
  })
  assert.equal(run.result.text, 'hello.txt is written.')
  assert.equal(run.result.terminal_reason, 'completed')
  assert.equal(readFileSync(join(cwd, 'hello.txt'), 'utf8'), 'Hello from a scripted model.\n')
  assert.deepEqual(
    simulator.requests.map(request => [request.turn, request.unexpected]),
    [0, 1, 2].map(turn => [`greeting.turns[${turn}]`, []]),
  )
  const deltas = run.messages.flatMap(
    ({ event }) => (event as { delta?: { type: string } } | undefined)?.delta?.type ?? [],
  )
  assert.deepEqual([...new Set(deltas)].filter(type => type.endsWith('_delta')).toSorted(), [
    'input_json_delta',
    'signature_delta',
    'text_delta',
    'thinking_delta',
  ])
  const last = run.messages.findLast(message => message['type'] === 'result') as { usage: Record<string, number> }
  assert.equal(last.usage['cache_read_input_tokens'], 9000)
})

test('examples/policy.yaml takes the other branch when a tool is refused, and a restart between prompts changes nothing', async t => {
  const home = tempDir(t)
  const cwd = gitProject(t)
  const file = join(EXAMPLES, 'policy.yaml')
  const first = await openSimulator({ file })
  t.after(() => first.close())
  const cleaned = await runClaude({
    url: first.url,
    home,
    cwd,
    prompt: 'Clean up the build folder',
    args: ['--permission-mode', 'default'],
  })
  assert.match(cleaned.result.text, /left the build folder alone/)
  assert.equal(cleaned.result.denials, 1)
  const helper = first.requests.filter(request => request.conversation === 'helper')
  assert.equal(helper.length, 2)
  assert.match(helper[1]?.tool_results[0]?.text ?? '', /README\.md/)
  await first.close()

  await using second = await openSimulator({ file, port: first.port })
  const asked = await runClaude({
    url: second.url,
    home,
    cwd,
    prompt: 'And why is that?',
    args: ['--resume', cleaned.session],
  })
  assert.match(asked.result.text, /without a person/)
  assert.deepEqual(
    second.requests.map(request => request.turn),
    ['clean-up.later[0].turns[0]'],
  )
})

test('examples/limit.yaml: retries, a limit told to the subscription, and a resumed conversation that goes on', async t => {
  const home = tempDir(t)
  const cwd = gitProject(t)
  const dir = tempDir(t)
  const file = join(dir, 'limit.yaml')
  copyFileSync(join(EXAMPLES, 'limit.yaml'), file)
  const options = {
    home,
    cwd,
    auth: 'oauth' as const,
    args: ['--permission-mode', 'default', '--allowedTools', 'Bash'],
  }
  const first = await openSimulator({ file })
  t.after(() => first.close())
  const before = Math.floor(Date.now() / 1000)
  // One retry is all that the test environment allows, and each of the two faults needs one of its own.
  const limited = await runClaude({
    ...options,
    url: first.url,
    prompt: 'Work through the night',
    env: { CLAUDE_CODE_MAX_RETRIES: '3' },
  })
  assert.equal(limited.result.api_error_status, 429)
  assert.deepEqual(
    first.requests.map(request => request.response),
    ['overloaded', 'cut_stream', 'answer', 'limit'],
  )
  const events = limited.messages.filter(message => message['type'] === 'rate_limit_event')
  const infos = events.map(event => event['rate_limit_info'] as Record<string, unknown>)
  assert.deepEqual(
    infos.map(info => info['status']),
    ['allowed_warning', 'rejected'],
  )
  assert.equal(infos[1]?.['rateLimitType'], 'five_hour')
  assert.ok(Number(infos[1]?.['resetsAt']) >= before + 7200)
  await first.close()

  writeFileSync(join(dir, 'window-open'), '')
  await using second = await openSimulator({ file, port: first.port })
  const resumed = await runClaude({
    ...options,
    url: second.url,
    prompt: 'go on',
    args: [...options.args, '--resume', limited.session],
  })
  assert.equal(resumed.result.text, 'I am back, and the second part is done too.')
  assert.deepEqual(
    second.requests.map(request => [request.turn, request.unexpected]),
    [['night.turns[3]', []]],
  )
})

test('a prompt that no conversation knows ends the real agent at once, with words that say so', async t => {
  await using simulator = await openSimulator({ file: join(EXAMPLES, 'hello.yaml') })
  const cwd = join(tempDir(t), 'project')
  mkdirSync(cwd)
  const run = await runClaude({ url: simulator.url, home: tempDir(t), cwd, prompt: 'Paint the shed' })
  assert.equal(run.code, 1)
  assert.match(run.result.text, /400 Simulator: No conversation of the scenario matches the prompt "Paint the shed"/)
  assert.match(run.result.text, /greeting to hello\.txt/)
  assert.equal(run.messages.filter(message => message['subtype'] === 'api_retry').length, 0)
})
