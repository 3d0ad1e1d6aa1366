import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type MemoryItem, type NewRecord, newRecord, type Trigger } from '../../../src/domain/memory.ts'
import { advise, getProcedures } from '../../../src/memory/learn/advise.ts'
import { applyRecord, itemIdsOf } from '../../../src/memory/learn/apply-record.ts'
import { findFault, matchesTrigger, requestSkeleton } from '../../../src/memory/learn/triggers.ts'
import { decide } from '../../../src/policy/verdict/decide.ts'

const NOW = Date.UTC(2026, 10, 17)

/** What a person answered to a request, so often. */
function learned(answers: readonly ('allow' | 'deny')[], fields: Partial<NewRecord> = {}): MemoryItem[] {
  const items = new Map<string, MemoryItem>()
  for (const [n, answer] of answers.entries()) {
    const record = newRecord({
      ...{
        kind: 'procedure',
        event_type: 'permission',
        trigger: { kind: 'request', text: 'gh pr view 17' },
        action: 'allow',
      },
      ...{ scope: 'project', of: 'p', actor: 'person', authority: 'person', time: NOW - (20 - n) * 3_600_000 },
      ...{ outcome: answer === 'allow' ? 'success' : 'failure', ...(fields as object) },
    } as NewRecord)
    for (const id of itemIdsOf(record)) {
      const item = applyRecord(items.get(id), record, {}, id)
      if (item) items.set(id, item)
    }
  }
  return [...items.values()]
}

const question = { event_type: 'permission', text: 'gh pr view 42', now: NOW, policy: {}, learning: 'beta' } as const

test('what people allowed again and again is allowed, what they refused is refused, and the rest is asked', () => {
  assert.equal(advise(learned(['allow']), question), undefined, 'once is not again')
  const advice = advise(learned(['allow', 'allow', 'allow']), question)
  assert.equal(advice?.action, 'allow')
  assert.ok(advice && advice.confidence >= 0.9)
  assert.match(advice.reason, /allowed such requests 3 times and refused them 0 times/)
  assert.equal(advise(learned(['deny', 'deny', 'deny']), question)?.action, 'deny')
  assert.equal(advise(learned(['allow', 'deny', 'allow', 'deny']), question), undefined)
  assert.equal(advise(learned(['allow', 'allow', 'allow']), { ...question, text: 'gh pr merge 42' }), undefined)
})

test('after a long time, and after one refusal, the person is asked again', () => {
  const items = learned(['allow', 'allow', 'allow'])
  assert.equal(advise(items, { ...question, now: NOW + 400 * 86_400_000 }), undefined)
  assert.equal(advise(learned(['allow', 'allow', 'allow', 'deny']), question), undefined)
})

test('a HIGH request has no advice, and an agent’s word gives none', () => {
  const many = learned(Array.from({ length: 20 }, () => 'allow' as const))
  assert.equal(advise(many, { ...question, risk: 'HIGH' }), undefined)
  const said = learned(
    Array.from({ length: 16 }, () => 'allow' as const),
    {
      authority: 'agent',
      actor: 'agent',
      event_type: 'command',
    } as Partial<NewRecord>,
  )
  assert.equal(said.length, 1, 'it is worth reading')
  assert.equal(advise(said, { ...question, event_type: 'command' }), undefined)
})

test('as a precedent of the policy, learned advice allows MEDIUM and never HIGH', async () => {
  const items = learned(Array.from({ length: 20 }, () => 'allow' as const))
  const verdicts = await Promise.all(
    (['MEDIUM', 'HIGH'] as const).map(risk => {
      const assessment = { risk, reasons: [], pieces: [], normalised: question.text }
      return decide(
        assessment,
        {
          ...{
            tool: 'Bash',
            blocked: [],
            rules: [],
            autoApproveLow: true,
            threshold: 0.7,
            attached: true,
            unattendedHigh: 'deny',
          },
          // A caller that forgets to pass the risk on cannot approve HIGH either.
          precedent: async () => {
            const advice = advise(items, question)
            return (
              advice && { approve: advice.action === 'allow', confidence: advice.confidence, reason: advice.reason }
            )
          },
        },
        AbortSignal.timeout(1000),
      )
    }),
  )
  assert.deepEqual(
    verdicts.map(({ verdict, by }) => [verdict, by]),
    [
      ['allow', 'precedent'],
      ['ask', 'policy'],
    ],
  )
})

test('memory.learning = "seed" takes the confidence of the first design', () => {
  const seed = { ...question, learning: 'seed' } as const
  assert.equal(advise(learned(['allow', 'allow', 'allow']), seed), undefined)
  assert.deepEqual(advise(learned(['allow', 'allow', 'allow', 'allow']), seed)?.confidence, 0.7)
  const [item] = learned(Array.from({ length: 30 }, () => 'allow' as const))
  assert.equal(item?.seed_confidence, 0.99)
  assert.equal(learned(Array.from({ length: 30 }, () => 'deny' as const))[0]?.seed_confidence, 0.1)
})

test('the action that worked most surely is the one for a failure', () => {
  const fix = (action: string, answers: ('allow' | 'deny')[]) =>
    learned(answers, {
      event_type: 'command',
      trigger: { kind: 'failure', text: 'npm t' },
      action,
      authority: 'gate',
      actor: 'daemon',
    } as Partial<NewRecord>)
  const items = [...fix('npm run unit', Array(8).fill('allow')), ...fix('make test', ['allow', 'deny', 'deny'])]
  assert.equal(advise(items, { ...question, event_type: 'command', text: 'npm t' })?.action, 'npm run unit')
  assert.deepEqual(
    getProcedures(items, 'command').map(({ action }) => action),
    ['npm run unit', 'make test'],
  )
  assert.deepEqual(getProcedures(items, 'permission'), [])
})

test('requests are alike if only numbers, hashes and messages differ', () => {
  assert.equal(requestSkeleton('git show 3fa91c02'), requestSkeleton('git show  99887766ab'))
  assert.equal(requestSkeleton("git commit -m 'one thing'"), requestSkeleton('git commit -m "another"'))
  for (const [one, other] of [
    ['pip install requests', 'pip install reqeusts'],
    ['node scripts/a.js', 'node scripts/b.js'],
    ['curl https://a.example/x', 'curl https://b.example/x'],
    ["node -e 'a()'", "node -e 'b()'"],
    ['git commit -m "$(rm -r .)"', 'git commit -m "x"'],
  ] as const)
    assert.notEqual(requestSkeleton(one), requestSkeleton(other))
})

test('patterns are for people, match all of a text, and end soon', () => {
  const matches = (kind: Trigger['kind'], text: string, event: string) => matchesTrigger({ kind, text }, event)
  assert.ok(matches('glob', 'npm run test:*', 'npm run test:unit'))
  assert.ok(!matches('glob', 'npm run test:*', 'sudo npm run test:unit'))
  assert.ok(!matches('glob', `${'*a'.repeat(60)}b`, 'a'.repeat(300)))
  assert.ok(matches('regex', 'gh pr (?:view|diff) \\d+', 'gh pr diff 3'))
  assert.ok(!matches('regex', 'gh pr view', 'gh pr view 3'))
  for (const evil of ['(a+)+b', '(a|a)*b', '(.*)\\1', 'a*a*a*a*a*a*b', '(?=a)b', '['])
    assert.ok(!matches('regex', evil, 'a'.repeat(300)), evil)
  const faultOf = (text: string) => findFault({ kind: 'regex', text })
  for (const [pattern, fault] of [
    ['(a+)+b', /repeats a group/],
    ['(.*)\\1', /refers back/],
    ['(?=a)b', /looks ahead/],
    ['a*a*a*a*b', /repeats 4 times/],
    ['a*a*a*(?:b|c)', /1 alternatives/],
    ['a|b|c|d|e|f|g|h', /7 alternatives/],
    ['[', /Invalid regular expression/],
    [' ', /empty/],
    ['a'.repeat(201), /longer than 200/],
  ] as const)
    assert.match(faultOf(pattern) ?? '', fault, pattern)
  for (const fine of ['\\)*', '[)]*x', '\\\\1', '\\p{L}+ \\p{L}+ \\p{L}*', '(?:view|diff) .*'])
    assert.equal(faultOf(fine), undefined, fine)
  const glob = { trigger: { kind: 'glob', text: 'npm *' } } as Partial<NewRecord>
  assert.equal(learned(['allow'], { ...glob, authority: 'gate', actor: 'daemon' } as Partial<NewRecord>).length, 0)
  assert.equal(advise(learned(['allow', 'allow', 'allow'], glob), { ...question, text: 'npm ci' })?.action, 'allow')
})
