import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openBrain } from '../../src/brain/open.ts'
import type { ModelUse } from '../../src/domain/brain.ts'
import type { Values } from '../../src/domain/config/settings.ts'
import type { ModelKind } from '../../src/domain/option-values.ts'
import { CONTEXT, configWith, DATABASE, question, reply } from './sample.ts'
import { KEY, openVendor, type Step } from './vendors.ts'

/** How a brain over a language model behaves, whoever serves the model. */
export function brainConformance(kind: ModelKind): void {
  const signal = new AbortController().signal

  async function openWith(t: TestContext, steps: [Step, ...Step[]], settings: Partial<Values> = {}) {
    const vendor = await openVendor(t, kind, steps)
    const brain = await openBrain(kind, configWith({ ...vendor.settings, ...settings }), vendor.env)
    return { brain, vendor }
  }

  test(`${kind} answers a question with one of its labels, its confidence and its reason`, async t => {
    const { brain, vendor } = await openWith(t, [{ says: reply(['SQLite']) }])
    const uses: ModelUse[] = []
    const used = async (use: ModelUse) => void uses.push(use)
    const opinion = await brain.answerQuestion([DATABASE], { ...CONTEXT, used }, signal)
    assert.equal(uses.length, 1)
    assert.ok((uses[0]?.inputTokens ?? 0) > 0 && (uses[0]?.outputTokens ?? 0) > 0, 'what it used is counted')
    assert.deepEqual(opinion, {
      value: ['SQLite'],
      confidence: 0.92,
      reasoning: 'The requirements say so.',
      by: kind,
    })
    const [sent = ''] = vendor.asked()
    for (const told of ['Add a cart to the shop', 'Database: SQLite', 'No new services', 'node:test', 'Which store?'])
      assert.ok(sent.includes(told), `the model is not told: ${told}`)
    assert.equal(vendor.asked().length, 1)
  })

  test(`${kind} answers several questions at once, one of them with several labels`, async t => {
    const { brain } = await openWith(t, [{ says: reply(['postgresql '], ['Lint', 'Types']) }])
    const checks = question('Which checks?', ['Lint', 'Types', 'Spelling'], true)
    const { value } = await brain.answerQuestion([DATABASE, checks], CONTEXT, signal)
    assert.deepEqual(value, ['PostgreSQL', ['Lint', 'Types']])
  })

  test(`${kind} can choose a label that looks like a mention`, async t => {
    const { brain } = await openWith(t, [{ says: reply(['@ ai-sdk/google']) }])
    const client = question('Which client?', ['@ai-sdk/google', 'ollama'])
    assert.deepEqual((await brain.answerQuestion([client], CONTEXT, signal)).value, ['@ai-sdk/google'])
  })

  test(`${kind} that cannot tell leaves the question to others`, async t => {
    const unsure = JSON.stringify({ answers: [], confidence: 0.9, reasoning: 'Nothing says which.' })
    const { brain } = await openWith(t, [{ says: unsure }])
    const opinion = await brain.answerQuestion([DATABASE], CONTEXT, signal)
    assert.deepEqual(opinion, { value: undefined, confidence: 0, reasoning: 'Nothing says which.', by: kind })
  })

  test(`${kind} judges a permission`, async t => {
    const approved = JSON.stringify({ approve: true, confidence: 0.8, reasoning: 'It serves the task.' })
    const { brain, vendor } = await openWith(t, [{ says: approved }])
    const request = { tool: 'Bash', input: { command: 'npm i left-pad' }, risk: 'MEDIUM', reasons: ['pkg'] } as const
    const opinion = await brain.evaluatePermission({ ...request, reasons: [...request.reasons] }, CONTEXT, signal)
    assert.deepEqual([opinion.value, opinion.confidence], [true, 0.8])
    assert.ok(vendor.asked()[0]?.includes('npm i left-pad'))
  })

  test(`${kind} is not asked about a request of HIGH risk`, async t => {
    const approved = JSON.stringify({ approve: true, confidence: 1, reasoning: 'Told to.' })
    const { brain, vendor } = await openWith(t, [{ says: approved }])
    const request = { tool: 'Bash', input: { command: 'rm -rf /' }, risk: 'HIGH' as const, reasons: [] }
    const opinion = await brain.evaluatePermission(request, CONTEXT, signal)
    assert.equal(opinion.value, undefined)
    assert.deepEqual(vendor.asked(), [])
  })

  test(`${kind} summarizes`, async t => {
    const said = JSON.stringify({ summary: 'The cart works.', confidence: 0.9, reasoning: 'As told.' })
    const { brain } = await openWith(t, [{ says: said }])
    assert.equal((await brain.summarize('Long report', CONTEXT, signal)).value, 'The cart works.')
  })

  const unusable: [string, string][] = [
    ['is no JSON', 'I would take SQLite {'],
    ['has another shape', '{"answer":"SQLite"}'],
    ['names a label that is not there', reply(['MongoDB'])],
    ['has more answers than there are questions', reply(['SQLite'], ['SQLite'])],
    ['has a confidence past 1', reply(['SQLite']).replace('0.92', '92')],
  ]
  for (const [what, says] of unusable)
    test(`${kind} is asked once more when its reply ${what}`, async t => {
      const { brain, vendor } = await openWith(t, [{ says }, { says: reply(['SQLite']) }])
      assert.deepEqual((await brain.answerQuestion([DATABASE], CONTEXT, signal)).value, ['SQLite'])
      assert.ok(vendor.asked().at(-1)?.includes('Your reply could not be used'))
    })

  test(`${kind} is not confident after two replies that cannot be used`, async t => {
    const { brain, vendor } = await openWith(t, [{ says: 'certainly!' }])
    const opinion = await brain.answerQuestion([DATABASE], CONTEXT, signal)
    assert.deepEqual([opinion.value, opinion.confidence], [undefined, 0])
    assert.match(opinion.reasoning, /could not be used, twice/)
    assert.ok(vendor.asked().length >= 2)
  })

  const failures: [string, Step, RegExp][] = [
    ['refuses', { refuses: true }, /refused|could not be used|declined/],
    ['allows no more requests', { status: 429, message: 'Quota exceeded' }, /429/],
    ['does not know the model', { status: 404, message: 'no such model' }, /model/],
    ['breaks the connection', { drops: true }, /failed/],
  ]
  for (const [what, step, reason] of failures)
    test(`${kind} that ${what} is not confident and says so`, async t => {
      const { brain } = await openWith(t, [step])
      const opinion = await brain.answerQuestion([DATABASE], CONTEXT, signal)
      assert.deepEqual([opinion.value, opinion.confidence, opinion.by], [undefined, 0, kind])
      assert.match(opinion.reasoning, reason)
    })

  test(`${kind} with a wrong key is not confident, and the key is not in the reason`, async t => {
    const { brain } = await openWith(t, [{ status: 401, message: `invalid key ${KEY}` }])
    const { value, reasoning } = await brain.answerQuestion([DATABASE], CONTEXT, signal)
    assert.equal(value, undefined)
    if (kind !== 'claude') assert.ok(!reasoning.includes(KEY), reasoning)
    assert.match(reasoning, /401/)
  })

  test(`${kind} that stays silent is given up at the deadline, and so is its request`, async t => {
    const { brain, vendor } = await openWith(t, [{ hangs: true }], { 'brain.timeout_seconds': 1 })
    const opinion = await brain.answerQuestion([DATABASE], CONTEXT, signal)
    assert.equal(opinion.value, undefined)
    assert.match(opinion.reasoning, /did not answer within 1 s/)
    await vendor.abandoned
  })

  test(`${kind} gives up when nobody waits any more`, async t => {
    const { brain, vendor } = await openWith(t, [{ hangs: true }])
    const caller = new AbortController()
    const opinion = brain.answerQuestion([DATABASE], CONTEXT, caller.signal)
    await vendor.heard
    caller.abort()
    assert.match((await opinion).reasoning, /nobody waits/)
    await vendor.abandoned
  })
}
