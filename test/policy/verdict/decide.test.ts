import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Assessment, Reason } from '../../../src/domain/assessment.ts'
import type { Risk } from '../../../src/domain/session.ts'
import { type DecisionContext, decide, suggestAlternative } from '../../../src/policy/verdict/decide.ts'

function request(risk: Risk, reasons: Reason[] = [{ code: 'net.get', risk, text: 'it reads a page' }]): Assessment {
  return { risk, reasons, pieces: [], normalised: 'WebFetch https://e.example' }
}
const standard: DecisionContext = {
  tool: 'WebFetch',
  blocked: [],
  rules: [],
  autoApproveLow: true,
  threshold: 0.7,
  attached: false,
  unattendedHigh: 'deny',
}
const decided = (risk: Risk, context: Partial<DecisionContext> = {}) =>
  decide(request(risk), { ...standard, ...context }, new AbortController().signal)
const advice = (approve: boolean, confidence: number) => async () => ({ approve, confidence, reason: 'so it was' })

test('LOW is allowed with its reason, or asked about when nothing is to be approved by itself', async () => {
  const low = { risk: 'LOW', reason: 'it reads a page', by: 'policy' }
  assert.deepEqual(await decided('LOW'), { ...low, verdict: 'allow', confidence: 0.95 })
  assert.deepEqual(await decided('LOW', { autoApproveLow: false }), { ...low, verdict: 'ask', confidence: 1 })
  const nothing = await decide(request('LOW', []), standard, new AbortController().signal)
  assert.equal(nothing.reason, 'nothing risky was found')
})

test('a MEDIUM request without anybody to ask goes to a person', async () => {
  const asked = { verdict: 'ask', risk: 'MEDIUM', reason: 'it reads a page', confidence: 0, by: 'policy' }
  assert.deepEqual(await decided('MEDIUM'), asked)
  const forgetful = async () => undefined
  assert.deepEqual(await decided('MEDIUM', { precedent: forgetful }), asked)
})

test('a brain approves from its threshold on, and otherwise its doubt is what a person reads', async () => {
  const said = { risk: 'MEDIUM', reason: 'so it was', by: 'brain' }
  assert.deepEqual(await decided('MEDIUM', { opinion: advice(true, 0.7) }), {
    ...said,
    verdict: 'allow',
    confidence: 0.7,
  })
  assert.deepEqual(await decided('MEDIUM', { opinion: advice(true, 0.69) }), {
    ...said,
    verdict: 'ask',
    confidence: 0.69,
  })
  assert.deepEqual(await decided('MEDIUM', { opinion: advice(false, 0.9) }), {
    ...said,
    verdict: 'ask',
    confidence: 0.9,
  })
})

test('what a person answered before settles it, but a yes that is not sure does not', async () => {
  const said = { risk: 'MEDIUM', reason: 'so it was', by: 'precedent' }
  const no = advice(false, 0.1)
  assert.deepEqual(await decided('MEDIUM', { precedent: no, opinion: advice(true, 1) }), {
    ...said,
    verdict: 'deny',
    confidence: 0.1,
  })
  const yes = advice(true, 0.7)
  assert.deepEqual(await decided('MEDIUM', { precedent: yes, opinion: advice(false, 1) }), {
    ...said,
    verdict: 'allow',
    confidence: 0.7,
  })
  const unsure = await decided('MEDIUM', { precedent: advice(true, 0.69), opinion: advice(true, 0.8) })
  assert.deepEqual([unsure.verdict, unsure.by], ['allow', 'brain'])
})

test('when time is up nobody is asked any more', async () => {
  let asked = 0
  const counting = async () => {
    asked += 1
    return { approve: true, confidence: 1, reason: 'yes' }
  }
  const { verdict } = await decide(
    request('MEDIUM'),
    { ...standard, precedent: counting, opinion: counting },
    AbortSignal.abort(),
  )
  assert.deepEqual([verdict, asked], ['ask', 0])
})

test('HIGH is asked about where somebody is or will be, and refused and listed where nobody is', async () => {
  const asked = { verdict: 'ask', risk: 'HIGH', reason: 'it reads a page', confidence: 0, by: 'policy' }
  assert.deepEqual(await decided('HIGH', { attached: true }), asked)
  assert.deepEqual(await decided('HIGH', { unattendedHigh: 'wait' }), asked)
  assert.deepEqual(await decided('HIGH'), {
    verdict: 'deny',
    risk: 'HIGH',
    reason: 'it reads a page; go on without it and say in your report that it was left out',
    confidence: 1,
    by: 'policy',
    morning: true,
  })
})

test('a rule decides before all else, and is named', async () => {
  const all = { risk: 'MEDIUM', confidence: 1, by: 'rule' }
  const ruled = (effect: 'allow' | 'ask' | 'deny') =>
    decided('MEDIUM', { rules: [{ effect, tool: 'WebFetch' }], opinion: advice(true, 1) })
  assert.deepEqual(await ruled('allow'), {
    ...all,
    verdict: 'allow',
    reason: 'a rule allows it',
    rule: 'allow WebFetch',
  })
  assert.deepEqual(await ruled('ask'), { ...all, verdict: 'ask', reason: 'it reads a page', rule: 'ask WebFetch' })
  const denied = await ruled('deny')
  assert.deepEqual([denied.verdict, denied.by, denied.rule, denied.confidence], ['deny', 'rule', 'deny WebFetch', 1])
  assert.match(denied.reason, /^a rule forbids it; go on without it/)
})

test('blocked commands are about commands, and are refused above every rule', async () => {
  assert.equal((await decided('LOW', { blocked: ['WebFetch', 'https:', 'https://e.example )'] })).verdict, 'allow')
  const command = { ...request('LOW'), normalised: 'Bash frob )' }
  const rules = [{ effect: 'allow', tool: 'Bash' } as const]
  const found = await decide(
    command,
    { ...standard, tool: 'Bash', blocked: ['x', 'frob )'], rules },
    new AbortController().signal,
  )
  assert.deepEqual(
    [found.verdict, found.by, found.rule, found.confidence, found.risk],
    ['deny', 'rule', 'blocked frob )', 1, 'LOW'],
  )
  assert.match(found.reason, /^"frob \)" is a blocked command; go on without it/)
})

test('a refusal names a way round that fits its first HIGH reason', () => {
  const way = (...codes: string[]) =>
    suggestAlternative(
      request(
        'HIGH',
        codes.map(code => ({ code, risk: code.startsWith('?') ? 'LOW' : 'HIGH', text: '' })),
      ),
    )
  const rows: [string, RegExp][] = [
    ['path.secret', /without the secret; ask for a value/],
    ['secret.sent', /^do without the secret$/],
    ['write.redirect', /Write or Edit tool/],
    ['editor', /^use the Edit tool/],
    ['file.delete', /leave the file where it is/],
    ['file.mode', /leave the rights/],
    ['git.force', /push without force/],
    ['git.destroy', /commit it, or stash it/],
    ['pipe.interpreter', /save it with the Write tool/],
    ['net.run', /as a dependency/],
    ['net.download', /WebFetch/],
    ['path.outside', /stay inside/],
    ['shell.too-long', /plain separate commands/],
    ['name.unknown', /name the program plainly/],
    ['code.inline', /into a file of the project/],
    ['pkg.publish', /publishing to a person/],
    ['anything', /go on without it/],
  ]
  for (const [code, words] of rows) assert.match(way(code), words, code)
  assert.match(way('anything', 'git.force'), /push without force/)
  assert.match(way('git.force', 'editor'), /push without force/)
  const low: Reason = { code: 'editor', risk: 'MEDIUM', text: '' }
  assert.match(suggestAlternative(request('HIGH', [low, { ...low, code: 'pkg.publish', risk: 'HIGH' }])), /publishing/)
})
