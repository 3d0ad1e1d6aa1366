import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { refuseHook } from '../../../src/agents/hooks/refuse.ts'
import { renderAnswer } from '../../../src/agents/hooks/render.ts'
import { hookTranslator } from '../../../src/agents/hooks/vendors.ts'
import { isObject, parseJson } from '../../../src/base/json.ts'
import {
  checkHookEvent,
  HOOK_VENDORS,
  type HookAnswer,
  type HookEvent,
  type HookEventKind,
  type HookOutput,
  type HookVendor,
  NO_OPINION,
} from '../../../src/domain/hooks.ts'
import { outputSchema } from './schemas.ts'

const DECISIONS: HookAnswer['decision'][] = ['none', 'allow', 'deny', 'ask', 'continue']
/** Every field of an answer, present and absent. */
const FIELDS: Partial<HookAnswer>[] = [
  {},
  { reason: 'BECAUSE' },
  { reason: '' },
  { context: 'CONTEXT' },
  { notice: 'NOTICE' },
  { input: { command: 'INPUT' } },
  { reason: 'BECAUSE', context: 'CONTEXT', notice: 'NOTICE' },
]
const MODES = [undefined, 'default', 'acceptEdits', 'plan', 'dontAsk', 'bypassPermissions', 'yolo', 'a new mode']

/** Every vendor, event, answer and field. */
function* everyAnswer() {
  for (const vendor of HOOK_VENDORS) {
    const { manifest } = hookTranslator(vendor)
    const natives = Object.entries(manifest.events) as [HookEventKind, string[]][]
    for (const [kind, native] of [
      ...natives.flatMap(([kind, all]) => all.map(one => [kind, one] as const)),
      ['unknown', 'New'] as const,
    ])
      for (const mode of MODES)
        for (const decision of DECISIONS)
          for (const fields of FIELDS) {
            const event = eventOf(vendor, { kind, native, mode })
            const answer: HookAnswer = { ...NO_OPINION, decision, ...fields }
            yield { vendor, manifest, event, answer, output: renderAnswer(manifest, event, answer) }
          }
  }
}

function eventOf(
  vendor: HookVendor,
  { kind, native, mode }: { kind: HookEventKind; native: string; mode?: string | undefined },
) {
  const event = checkHookEvent(kind, {
    ...{ vendor, native, session: 's', cwd: '/proj', permission_mode: mode },
    ...{ tool: 'Bash', input: { command: 'ls' }, ok: true, output: '', text: '', again: false, background: 0 },
    ...{ source: 'x', reason: 'x', error_type: 'x', message: 'x', input_tokens: 0, output_tokens: 0 },
  })
  assert.ok(event)
  return event
}

/** What the vendor does with the call, as it was seen with the real programs. */
function effectOf(
  vendor: HookVendor,
  native: string,
  { stdout, exit }: HookOutput,
): 'allow' | 'deny' | 'ask' | 'silence' {
  if (exit === 2) return 'deny'
  assert.equal(exit, 0, 'any other exit code lets the call run')
  const said = readObject(parseJson(stdout))
  const specific = readObject(said['hookSpecificOutput'])
  const word =
    specific['permissionDecision'] ??
    readObject(specific['decision'])['behavior'] ??
    said['permissionDecision'] ??
    said['behavior'] ??
    said['decision']
  if (vendor === 'codex' && native === 'PreToolUse')
    assert.equal(word, undefined, 'Codex gets refusals by exit code only')
  return word === undefined ? 'silence' : (word as 'allow' | 'deny' | 'ask')
}

function readObject(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

const isDecided = ({ kind }: HookEvent) => kind === 'tool_before' || kind === 'permission'

describe('every answer at every event of every vendor', () => {
  test('is of a form that the vendor accepts', () => {
    let count = 0
    for (const { vendor, event, output } of everyAnswer()) {
      count++
      outputSchema(vendor, event.native).parse(output.stdout === '' ? '' : JSON.parse(output.stdout))
      assert.ok(output.exit === 0 || (output.exit === 2 && output.stdout === '' && output.stderr.trim() !== ''))
    }
    assert.ok(count > 10_000, String(count))
  })

  test('allows a call only if the answer allows it', () => {
    for (const { vendor, event, answer, output } of everyAnswer())
      if (isDecided(event) && effectOf(vendor, event.native, output) === 'allow')
        assert.equal(answer.decision, 'allow', `${vendor} ${event.native}`)
  })

  test('refuses a call that the answer refuses, with a reason', () => {
    for (const { vendor, manifest, event, answer, output } of everyAnswer()) {
      if (answer.decision !== 'deny' || !isDecided(event)) continue
      if (event.kind === 'permission' && !manifest.events.permission) continue
      assert.equal(effectOf(vendor, event.native, output), 'deny', `${vendor} ${event.native}`)
      assert.match(`${output.stdout}${output.stderr}`, answer.reason ? /BECAUSE/ : /pcc does not allow this/)
    }
  })

  test('never says ask to Codex, and never lets a call run there that a person should decide', () => {
    for (const { vendor, event, answer, output } of everyAnswer()) {
      if (vendor !== 'codex') continue
      assert.ok(!output.stdout.includes('"ask"'))
      if (event.kind === 'tool_before' && answer.decision === 'ask') assert.equal(output.exit, 2)
    }
  })

  test('asks in the dialog of the vendor where there is one', () => {
    for (const { vendor, event, answer, output } of everyAnswer()) {
      if (answer.decision !== 'ask' || answer.input || !isDecided(event) || vendor === 'codex') continue
      const wanted = event.kind === 'permission' ? 'silence' : 'ask'
      assert.equal(effectOf(vendor, event.native, output), wanted, `${vendor} ${event.native}`)
    }
  })

  test('replaces no input except to answer a question', () => {
    for (const { vendor, event, answer, output } of everyAnswer()) {
      assert.ok(!output.stdout.includes('INPUT'))
      if (answer.input && answer.decision === 'allow' && isDecided(event))
        assert.equal(effectOf(vendor, event.native, output), 'deny')
    }
  })

  test('adds context and notices exactly where the manifest says so', () => {
    for (const { manifest, event, answer, output } of everyAnswer()) {
      const takes = manifest.context.includes(event.kind)
      assert.equal(
        output.stdout.includes('CONTEXT'),
        takes && answer.context !== undefined,
        `${manifest.vendor} ${event.native}`,
      )
      if (!manifest.notices) assert.ok(!output.stdout.includes('NOTICE'))
      else if (output.exit === 0) assert.equal(output.stdout.includes('NOTICE'), answer.notice !== undefined)
    }
  })

  test('holds a stop only if the answer says so', () => {
    for (const { vendor, event, answer, output } of everyAnswer())
      if (event.kind === 'stop')
        assert.equal(/"(block|deny)"/.test(output.stdout), answer.decision === 'continue', `${vendor} ${event.native}`)
  })

  test('says nothing at an event that this version does not know', () => {
    for (const { event, output } of everyAnswer())
      if (event.kind === 'unknown') assert.ok(!/decision|behavior|additionalContext/i.test(output.stdout))
  })
})

test('a remembered answer reaches each vendor in its own way', () => {
  const questions = [{ question: 'Which colour?', header: '', multiSelect: false, options: [] }]
  const answer: HookAnswer = {
    ...{ ...NO_OPINION, decision: 'allow' },
    input: { questions, answers: { 'Which colour?': 'Blue' } },
  }
  const said = HOOK_VENDORS.map(vendor => {
    const { manifest } = hookTranslator(vendor)
    const native = manifest.events.tool_before?.[0] ?? ''
    const event = { ...eventOf(vendor, { kind: 'tool_before', native }), tool: 'AskUserQuestion', input: { questions } }
    const { stdout, stderr } = renderAnswer(manifest, event as HookEvent, answer)
    return `${stdout}${stderr}`
  })
  for (const text of said) assert.match(text, /Blue/)
  assert.match(said[0] ?? '', /"permissionDecision":"allow","updatedInput"/)
  for (const text of said.slice(1)) assert.match(text, /Which colour\? Blue/)
})

test('when everything else failed, calls are refused and nothing else is held', () => {
  for (const vendor of HOOK_VENDORS) {
    const { manifest } = hookTranslator(vendor)
    for (const [kind, natives] of Object.entries(manifest.events))
      for (const native of natives) {
        const output = refuseHook(vendor, native, 'BECAUSE')
        const decides = kind === 'tool_before' || kind === 'permission'
        assert.equal(effectOf(vendor, native, output), decides ? 'deny' : 'silence', `${vendor} ${native}`)
        if (decides) assert.match(`${output.stdout}${output.stderr}`, /BECAUSE/)
      }
  }
  assert.equal(refuseHook('codex', 'PreToolUse', '').stderr.trim() === '', false)
  assert.equal(refuseHook('someone', 'Else', 'BECAUSE').exit, 2)
})

test('a manifest names what must stand behind the hooks exactly where a failure lets a call run', () => {
  for (const vendor of HOOK_VENDORS) {
    const { failures, behind } = hookTranslator(vendor).manifest
    assert.equal(behind !== undefined, Object.values(failures).includes('runs'))
  }
})

test('an answer of a version that the manifest does not name refuses the call, whatever it says', () => {
  for (const vendor of HOOK_VENDORS) {
    const { manifest } = hookTranslator(vendor)
    const { from, to } = manifest.schemas
    for (const version of [from - 1, to + 1])
      for (const kind of ['tool_before', 'permission'] as const)
        for (const native of manifest.events[kind] ?? []) {
          const answer = { ...NO_OPINION, decision: 'allow', schema_version: version } as unknown as HookAnswer
          const { stdout, stderr, exit } = renderAnswer(manifest, eventOf(vendor, { kind, native }), answer)
          assert.match(stderr, /a version that its hook does not know/, `${vendor} ${native}`)
          assert.ok(exit === 2 || /"deny"/.test(stdout), `${vendor} ${native}`)
        }
  }
})
