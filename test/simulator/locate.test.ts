import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type LocateResult, locate } from '../../src/simulator/locate.ts'
import { parseScenario } from '../../src/simulator/read-scenario.ts'
import { readDialogue } from '../../src/simulator/wires/anthropic-request.ts'
import { assistant, result, type Said, user } from './client.ts'

const BRANCHES = `
conversations:
  - name: work
    match: do the work
    turns:
      - text: start
        tools: [{ Bash: { command: make } }]
      - when: { tool_result_contains: warning }
        text: there was a warning
      - either:
          - when: { tool_failed: true }
            turns:
              - { text: it failed, tools: [{ Bash: { command: make clean } }] }
              - { text: cleaned }
          - when: { tool_result_regex: "^made \\\\d+" }
            text: made it
          - text: no idea
      - repeat: 2
        text: again
      - text: the end
    later:
      - match: explain
        turns: [{ text: because }, { text: and because }]
      - match: { regex: "^stop" }
        turns: [{ fault: { kind: overloaded, times: 1 } }, { text: stopped }]
    otherwise: { text: nothing left }
  - name: rest
    match: { system_contains: You are a helper, model: haiku }
    turns: [{ text: helped }]
`

function find(messages: Said[], more: { system?: string; model?: string } = {}, over = () => true): LocateResult {
  const request = { model: more.model ?? 'claude-test', system: more.system ?? '', messages } as const
  const dialogue = readDialogue(request as unknown as Parameters<typeof readDialogue>[0])
  return locate(parseScenario(BRANCHES, 'x.yaml'), dialogue, over)
}

function textAt(...args: Parameters<typeof find>): string | undefined {
  const located = find(...args)
  return located.found === 'step' ? located.step.turn.text : located.found
}

const start = [user('please do the work')]
const replied = (text: string) => assistant([{ type: 'text', text }])

test('each reply in the request uses up one turn', () => {
  assert.equal(textAt(start), 'start')
  assert.equal(textAt([...start, replied('start'), result('made 3')]), 'made it')
  assert.equal(textAt([...start, replied('start'), result('made 3'), replied('made it'), user('more')]), 'again')
})

test('what Claude Code puts in the place of an answer that never came uses up no turn', () => {
  assert.equal(textAt([...start, replied('No response requested.'), user('more')]), 'start')
})

test('a condition is judged at the point of the conversation where it stood, not by what came later', () => {
  const failed = [...start, replied('start'), result('error', true)]
  assert.equal(textAt(failed), 'it failed')
  const cleaned = [...failed, replied('it failed'), result('made 3')]
  assert.equal(textAt(cleaned), 'cleaned')
  assert.equal(textAt([...cleaned, replied('cleaned'), user('go on')]), 'again')
  const warned = [...start, replied('start'), result('a warning')]
  assert.equal(textAt(warned), 'there was a warning')
  assert.equal(textAt([...warned, replied('there was a warning'), user('so?')]), 'no idea')
})

test('repeat, then the end, then otherwise', () => {
  const history: Said[] = [...start, replied('start'), result('made 1'), replied('made it'), user('1')]
  const seen: (string | undefined)[] = []
  for (let round = 0; round < 5; round++) {
    seen.push(textAt(history))
    history.push(replied('x'), user('more'))
  }
  assert.deepEqual(seen, ['again', 'again', 'the end', 'nothing left', 'nothing left'])
})

test('a later prompt may start a script of its own, and the latest one counts', () => {
  const asked = [...start, replied('start'), result('made 1'), replied('made it'), user('explain that')]
  assert.equal(textAt(asked), 'because')
  assert.equal(textAt([...asked, replied('because'), user('hm')]), 'and because')
  assert.equal(textAt([...asked, replied('because'), user('stop now')]), 'stopped')
  assert.equal(
    textAt([...asked, replied('because'), user('stop now'), replied('stopped'), user('explain that')]),
    'because',
  )
})

test('the first prompt never starts a later script', () => {
  assert.equal(textAt([user('do the work and explain it')]), 'start')
})

test('a fault that has not ended is met at the current point and never counts as a reply', () => {
  const stop = [...start, replied('start'), user('stop now')]
  const met = find(stop, {}, () => false)
  assert.ok(met.found === 'step' && met.step.turn.fault?.kind === 'overloaded')
  assert.equal(met.step.place, 'work.later[1].turns[0]')
  assert.equal(
    textAt(stop, {}, () => true),
    'stopped',
  )
})

test('the first prompt is what the person said: reminders, system entries and joined blocks do not hide it', () => {
  const wrapped: Said[] = [
    { role: 'system', content: 'do the work is only mentioned here' },
    user([
      { type: 'text', text: '<system-reminder>\nexplain: CLAUDE.md says\n</system-reminder>\n' },
      { type: 'text', text: 'do the work\n' },
      { type: 'text', text: 'explain it' },
    ]),
    { role: 'system', content: '# Environment\n - Primary working directory: /tmp/x\n' },
  ]
  assert.equal(textAt(wrapped), 'because')
  const hidden = [
    user([
      { type: 'text', text: '<system-reminder>do the work</system-reminder>' },
      { type: 'text', text: 'hello' },
    ]),
  ]
  assert.equal(textAt(hidden), 'unmatched')
})

test('an answer that came back as two assistant messages is one reply', () => {
  assert.equal(textAt([...start, replied('sta'), replied('rt'), result('made 2')]), 'made it')
})

test('a conversation may be known by its system prompt and its model', () => {
  assert.equal(textAt([user('anything')], { system: 'You are a helper.', model: 'claude-haiku-9' }), 'helped')
  assert.equal(textAt([user('anything')], { system: 'You are a helper.', model: 'claude-opus-9' }), 'unmatched')
})

test('an unknown prompt is told with its start and the known ones; run-out turns with the conversation', () => {
  const unknown = find([user('x'.repeat(500))])
  assert.ok(unknown.found === 'unmatched')
  assert.ok(unknown.problem.includes(`"${'x'.repeat(120)}…"`))
  assert.ok(unknown.problem.includes('"do the work"'))
  const out = find([user('anything'), replied('helped'), user('more')], { system: 'You are a helper', model: 'haiku' })
  assert.ok(out.found === 'exhausted')
  assert.match(out.problem, /"rest" have run out after 1 repl/)
})

test('repeats of what uses up no reply are not gone through one by one', () => {
  let turn: object = { fault: { kind: 'overloaded', times: 1 } }
  for (let depth = 0; depth < 4; depth++) turn = { repeat: 100_000, turns: [turn] }
  const scenario = parseScenario(JSON.stringify({ conversations: [{ turns: [turn] }] }), 'x.yaml')
  const dialogue = readDialogue({ model: 'm', messages: [user('go')] } as unknown as Parameters<typeof readDialogue>[0])
  assert.equal(locate(scenario, dialogue, () => true).found, 'exhausted')
})

test('whatever the script, replaying the history of its own replies visits the turns in order', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ repeat: fc.integer({ min: 1, max: 3 }), fault: fc.boolean() }), {
        minLength: 1,
        maxLength: 8,
      }),
      plan => {
        const turns = plan.flatMap(({ repeat, fault }, at) => [
          ...(fault ? [{ fault: { kind: 'overloaded', times: 1 } }] : []),
          { text: `t${at}`, repeat },
        ])
        const scenario = parseScenario(JSON.stringify({ conversations: [{ turns }] }), 'x.yaml')
        const messages: Said[] = [user('go')]
        const expected = plan.flatMap(({ repeat }, at) => Array<string>(repeat).fill(`t${at}`))
        for (const text of expected) {
          const dialogue = readDialogue({ model: 'm', messages } as unknown as Parameters<typeof readDialogue>[0])
          const located = locate(scenario, dialogue, () => true)
          assert.ok(located.found === 'step')
          assert.equal(located.step.turn.text, text)
          messages.push(replied(text), user('next'))
        }
      },
    ),
    { numRuns: 100 },
  )
})
