import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { PastAttempt } from '../../../src/domain/attempt.ts'
import { MODEL_STRATEGIES, type ModelStrategy } from '../../../src/domain/option-values.ts'
import { chooseModel, chooseStrategy, type ModelChoiceInput } from '../../../src/supervisor/runs/models.ts'
import { past } from './past-attempts.ts'

const NAMES = { light: 'haiku', standard: 'sonnet', strong: 'opus' }

/** A history in words: `opus:failed` ran with opus and failed, `done>haiku` was done and asked for haiku. */
function history(...words: string[]): PastAttempt[] {
  return words.map((word, index) => {
    const [ran = '', asked] = word.split('>')
    const [outcome = '', model = null] = ran.split(':').reverse()
    const task_id = `t-${index}`
    if (outcome === 'overloaded') return past({ task_id, model, outcome: 'failed', failure: 'overloaded' })
    if (outcome === 'troubled') return past({ task_id, model, outcome: 'done', troubled: true })
    return past({ task_id, model, outcome: outcome as PastAttempt['outcome'], next_model: asked ?? null })
  })
}

interface Row {
  sentence: string
  strategy: ModelStrategy
  before?: string[]
  choosing?: Partial<ModelChoiceInput>
  model: string | undefined
}

const FIXED = { model: 'opus' }

/** Every sentence on strategies in the description that this follows, and what follows where it leaves something open. */
const TABLE: Row[] = [
  // "Fixed: Always returns the --model value"
  { sentence: 'fixed is the model that was named', strategy: 'fixed', choosing: FIXED, model: 'opus' },
  {
    sentence: 'fixed stays after a failure',
    strategy: 'fixed',
    choosing: { model: 'haiku' },
    before: ['failed', 'failed'],
    model: 'haiku',
  },
  { sentence: 'fixed stays after success', strategy: 'fixed', choosing: FIXED, before: ['done'], model: 'opus' },
  { sentence: 'fixed takes any name', strategy: 'fixed', choosing: { model: 'claude-next-9' }, model: 'claude-next-9' },
  { sentence: "fixed without a model is the agent's own", strategy: 'fixed', model: undefined },
  { sentence: 'fixed stands above the task', strategy: 'fixed', choosing: { ...FIXED, hint: 'haiku' }, model: 'opus' },
  // "CostOptimized (default): Defaults to sonnet; escalates to opus on error signals; drops to haiku on clean completions"
  { sentence: 'cost-optimized begins with sonnet', strategy: 'cost-optimized', model: 'sonnet' },
  { sentence: 'an error makes it opus', strategy: 'cost-optimized', before: ['done', 'failed'], model: 'opus' },
  { sentence: 'a clean completion makes it haiku', strategy: 'cost-optimized', before: ['done'], model: 'haiku' },
  { sentence: 'clean after an error is haiku', strategy: 'cost-optimized', before: ['failed', 'done'], model: 'haiku' },
  { sentence: 'done with trouble is the default', strategy: 'cost-optimized', before: ['troubled'], model: 'sonnet' },
  {
    sentence: 'an interruption is no sign: what was before it counts',
    strategy: 'cost-optimized',
    before: ['failed', 'interrupted'],
    model: 'opus',
  },
  {
    sentence: 'an overloaded vendor is no error of the model',
    strategy: 'cost-optimized',
    before: ['overloaded'],
    model: 'sonnet',
  },
  {
    sentence: 'a retry is judged by its own last attempt, not by another task that went well',
    strategy: 'cost-optimized',
    before: ['failed', 'done'],
    choosing: { task: 't-0' },
    model: 'opus',
  },
  // "Escalate: Starts at haiku, escalates to sonnet/opus on failure signals."
  { sentence: 'escalate begins with haiku', strategy: 'escalate', model: 'haiku' },
  { sentence: 'a failure makes it sonnet', strategy: 'escalate', before: ['haiku:failed'], model: 'sonnet' },
  {
    sentence: 'a second one makes it opus',
    strategy: 'escalate',
    before: ['haiku:failed', 'sonnet:failed'],
    model: 'opus',
  },
  {
    sentence: 'there is nothing above opus',
    strategy: 'escalate',
    before: ['haiku:failed', 'sonnet:failed', 'opus:failed', 'opus:failed'],
    model: 'opus',
  },
  {
    sentence: 'two that failed with haiku at once are one step',
    strategy: 'escalate',
    before: ['haiku:failed', 'haiku:failed'],
    model: 'sonnet',
  },
  {
    sentence: 'a failure with a model that is on no rung is one step too',
    strategy: 'escalate',
    before: ['failed', 'other:failed'],
    model: 'opus',
  },
  // "Monotonic — only de-escalates via Claude hint."
  {
    sentence: 'success does not lower it',
    strategy: 'escalate',
    before: ['haiku:failed', 'sonnet:done', 'sonnet:done'],
    model: 'sonnet',
  },
  {
    sentence: 'the hint of an agent does, from then on',
    strategy: 'escalate',
    before: ['haiku:failed', 'sonnet:failed', 'opus:done>haiku', 'haiku:done'],
    model: 'haiku',
  },
  {
    sentence: 'and it climbs again from there',
    strategy: 'escalate',
    before: ['haiku:failed', 'sonnet:failed', 'opus:done>haiku', 'haiku:failed'],
    model: 'sonnet',
  },
  {
    sentence: 'an overloaded vendor is no failure',
    strategy: 'escalate',
    before: ['haiku:overloaded'],
    model: 'haiku',
  },
  // "PlanThenExecute: opus for iteration 1, sonnet for all subsequent iterations"
  { sentence: 'the first attempt plans with opus', strategy: 'plan-then-execute', model: 'opus' },
  { sentence: 'the second executes with sonnet', strategy: 'plan-then-execute', before: ['done'], model: 'sonnet' },
  {
    sentence: 'and so do all later ones, whatever happened',
    strategy: 'plan-then-execute',
    before: ['done', 'failed', 'failed'],
    model: 'sonnet',
  },
  // "Claude can override any strategy for the next iteration via <next-model>opus|sonnet|haiku</next-model>."
  ...MODEL_STRATEGIES.flatMap(strategy =>
    ['opus', 'sonnet', 'haiku'].map(model => ({
      sentence: `the agent asks for ${model}`,
      strategy,
      choosing: { model: 'named', hint: 'hinted' },
      before: ['failed', `done>${model}`],
      model,
    })),
  ),
  {
    sentence: 'but only for the next one',
    strategy: 'plan-then-execute',
    before: ['done>haiku', 'done'],
    model: 'sonnet',
  },
  { sentence: 'and only what is set up', strategy: 'cost-optimized', before: ['done>gpt-9'], model: 'haiku' },
  // The hint that a person wrote on the task.
  { sentence: 'the task names a rung', strategy: 'escalate', choosing: { hint: 'strong' }, model: 'opus' },
  { sentence: 'the task names any model', strategy: 'escalate', choosing: { hint: 'claude-x' }, model: 'claude-x' },
  { sentence: 'an empty hint is none', strategy: 'escalate', choosing: { hint: ' ' }, model: 'haiku' },
]

for (const { sentence, strategy, before = [], choosing, model } of TABLE) {
  test(`${strategy}: ${sentence} (after ${before.join(', ') || 'nothing'})`, () => {
    const choice = chooseModel(strategy, history(...before), { names: NAMES, task: 't-new', ...choosing })
    assert.equal(choice.model, model, choice.why)
    assert.notEqual(choice.why, '')
  })
}

test('a name in the settings takes the place of a rung: no release is needed for a new model', () => {
  const names = { light: 'claude-small-7', standard: 'claude-middle-7', strong: 'claude-large-7' }
  const choose = (...before: string[]) =>
    chooseModel('cost-optimized', history(...before), { names, task: 't-new' }).model
  assert.equal(choose(), 'claude-middle-7')
  assert.equal(choose('done>opus'), 'claude-large-7')
  assert.equal(choose('done>claude-small-7'), 'claude-small-7')
  assert.equal(choose('done>Strong'), 'claude-large-7')
})

test('a configured name is meant before the usual word for a rung', () => {
  const names = { light: 'sonnet', standard: 'opus', strong: 'mythos' }
  assert.equal(chooseModel('escalate', history('done>opus'), { names, task: 't-new' }).model, 'opus')
  assert.equal(chooseModel('escalate', history('done>haiku'), { names, task: 't-new' }).model, 'sonnet')
})

test('a choice says why, and that a wish of the agent was passed over', () => {
  const why = (strategy: ModelStrategy, ...before: string[]) =>
    chooseModel(strategy, history(...before), { names: NAMES, task: 't-new' }).why
  assert.equal(why('escalate', 'haiku:failed'), 'escalate: attempts have failed')
  assert.equal(why('escalate', 'done>opus'), 'the agent asked for opus')
  assert.match(why('escalate', 'done>constructor'), /the agent asked for constructor, which is not set up$/)
})

test('whatever happened, escalate never goes down without a word of the agent', () => {
  const rungs = ['haiku', 'sonnet', 'opus']
  const attempt = fc.constantFrom(
    ...rungs.flatMap(model =>
      ['failed', 'done', 'troubled', 'interrupted', 'overloaded'].map(end => `${model}:${end}`),
    ),
  )
  fc.assert(
    fc.property(fc.array(attempt, { maxLength: 30 }), words => {
      const path = words.map((_, end) =>
        rungs.indexOf(
          chooseModel('escalate', history(...words.slice(0, end + 1)), { names: NAMES, task: 't-new' }).model ?? '',
        ),
      )
      assert.deepEqual(
        path,
        path.toSorted((a, b) => a - b),
      )
    }),
  )
})

const settings = { strategy: 'cost-optimized' } as const

test('cost-optimized is what holds when nobody said anything', () => {
  assert.deepEqual(chooseStrategy({ flags: {}, settings }), { strategy: 'cost-optimized' })
})

test('--model implies fixed, whatever the settings say', () => {
  const asked = chooseStrategy({ flags: { model: 'opus' }, settings: { model: 'haiku', strategy: 'escalate' } })
  assert.deepEqual(asked, { strategy: 'fixed', model: 'opus' })
})

test('so does a model in the settings, until a flag names another strategy', () => {
  const named = { model: 'haiku', strategy: 'escalate' } as const
  assert.deepEqual(chooseStrategy({ flags: {}, settings: named }), { strategy: 'fixed', model: 'haiku' })
  const asked = chooseStrategy({ flags: { strategy: 'plan-then-execute' }, settings: named })
  assert.deepEqual(asked, { strategy: 'plan-then-execute' })
  assert.deepEqual(chooseStrategy({ flags: { strategy: 'fixed' }, settings: named }), {
    strategy: 'fixed',
    model: 'haiku',
  })
})

test('a model together with a strategy that picks models is refused', () => {
  const asked = chooseStrategy({ flags: { model: 'opus', strategy: 'escalate' }, settings })
  assert.match('problem' in asked ? asked.problem : '', /--model opus means.*"escalate": leave one of them out/)
  const same = chooseStrategy({ flags: { model: 'opus', strategy: 'fixed' }, settings })
  assert.deepEqual(same, { strategy: 'fixed', model: 'opus' })
})
