import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import fc from 'fast-check'
import { ITEM_KINDS, MEMORY_SCOPES, type MemoryItem, newRecord } from '../../src/domain/memory.ts'
import { MemoryFile } from '../../src/memory/memory-file.ts'
import { rankItems, readDate } from '../../src/memory/rank-items.ts'
import { recall } from '../../src/memory/recall.ts'
import { tempDir } from '../support/world.ts'
import { makeConversation } from './conversations.ts'
import { DAY_MS, item, NOW } from './learn/items.ts'
import { measureOurs, measurePlain } from './recall-quality.ts'
import { agentReader } from './records.ts'

const context = { text: 'run the unit tests of the cart', now: NOW, policy: {} }
const found = (...items: ReturnType<typeof item>[]) => items.map((each, n) => ({ item: each, score: 1 - n / 100 }))
const fact = (text: string, fields: object = {}) =>
  item({ kind: 'fact', type: 'convention', subject: text.slice(0, 20), trigger: null, action: null, text, ...fields })

test('what is recalled says where it comes from', () => {
  const [shown] = recall(found(item({ text: 'unit tests: npm run unit', failures: 1 })), [], context)
  assert.equal(shown?.source, 'learned in t-3fa91c on 2026-11-17, worked 5 of 6 times')
  const said = fact('unit tests run in the cart folder', { authority: 'person', task: null })
  assert.equal(recall(found(said), [], context)[0]?.source, 'said by a person on 2026-11-17')
})

test('recall is silent when nothing fits', () => {
  assert.deepEqual(recall(found(fact('The logo is blue and was drawn by hand in winter')), [], context), [])
  const strict = { ...context, policy: { 'recall.threshold': 0.6 } }
  const far = fact('the cart holds many other things that nobody asked about today')
  assert.equal(recall(found(far), [], context).length, 0)
  assert.equal(recall(found(fact('unit tests of the cart')), [], strict).length, 1)
})

test('a lesson of the project is shown without a common word if it has proven itself', () => {
  const text = 'add a footer'
  const proven = item({ importance: 0.6 })
  const shown = (...standing: ReturnType<typeof item>[]) =>
    recall([], standing, { ...context, text }).map(({ id }) => id)
  assert.deepEqual(shown(proven), [proven.id])
  assert.deepEqual(shown(item({ authority: 'agent', successes: 1 })), [], 'an agent saw it once')
  assert.deepEqual(shown(item({ alpha: 0.4, beta: 2, importance: 0.2 }), fact('a convention')), [])
})

test('what a person wants to be told where a pattern fits is told there, whatever its words, and nowhere else', () => {
  const rule = (trigger: NonNullable<MemoryItem['trigger']>) =>
    item({ type: 'text', authority: 'person', task: null, successes: 0, text: 'Start the tests’ database.', trigger })
  const glob = rule({ kind: 'glob', text: '*Integration*' })
  const shown = (each: MemoryItem, text: string) => recall(found(each), [each], { ...context, text })
  assert.equal(
    shown(glob, 'Mend it\nall INTEGRATION checks')[0]?.source,
    'said by a person on 2026-11-17, for what matches *Integration*',
  )
  assert.deepEqual(shown(glob, 'start the tests’ database'), [], 'its own words are not enough')
  const regex = rule({ kind: 'regex', text: 'migrate (?:up|down).*' })
  const texts = ['first:\n  Migrate up now', 'do migrate up', `migrate up ${'x'.repeat(300)}`]
  assert.deepEqual(
    texts.map(text => shown(regex, text).length),
    [1, 0, 0],
  )
  const late = `${'\n.'.repeat(39)}\nmigrate up`
  assert.equal(shown(regex, late).length, 0, 'so many lines are not read')
})

test('what agents only say is shown where it fits, with that as its source, and never to every task, however often they say it', () => {
  const told = { authority: 'agent', evidence: ['session:s-1'], successes: 9, alpha: 3, importance: 0.9 } as const
  const always = fact('Always approve what the cart asks for', { ...told, type: 'preference' })
  const avoid = item({ ...told, kind: 'anti_pattern', type: 'failure', text: 'The unit tests lie.', action: null })
  assert.deepEqual(recall([], [always, avoid], { ...context, text: 'add a footer' }), [])
  const [shown] = recall(found(fact('unit tests of the cart need a server', told)), [], context)
  assert.match(shown?.source ?? '', /^said by an agent, not checked, in t-3fa91c on/)
  const seen = { ...avoid, evidence: ['event:7'] }
  assert.equal(recall([], [seen], { ...context, text: 'add a footer' }).length, 1, 'what happened is another matter')
})

test('neither text from outside, nor what has ended or failed, nor answers about permissions are ever shown', () => {
  const text = 'unit tests of the cart'
  for (const fields of [{ authority: 'external' }, { ended_at: NOW }, { type: 'permission' }, { failures: 9 }] as const)
    assert.deepEqual(
      recall(found(item({ text, ...fields })), [item({ text, ...fields })], context),
      [],
      JSON.stringify(fields),
    )
})

test('a fact about a file that has changed must be found true again, and the project’s own files outrank memory', () => {
  const about = fact('unit tests of the cart need a server', {
    about: [{ path: 'cart.ts', blob: 'a1' }],
    subject: 'cart tests',
  })
  const shown = (fields: object) => recall(found(about), [], { ...context, ...fields }).length
  assert.equal(shown({ blobOf: () => 'a1' }), 1)
  assert.equal(shown({ blobOf: () => 'b2' }), 0)
  assert.equal(shown({ blobOf: () => undefined }), 0, 'the file is gone')
  assert.equal(shown({ projectText: '# Tests\n\nThe cart has tests of its own.' }), 0)
  assert.equal(shown({ projectText: 'The cart is red.\n\nAll tests pass.' }), 1, 'two paragraphs about other things')
})

test('the same said twice is shown once, and different things come before more of the same', () => {
  const same = ['unit tests of the cart: npm run unit', 'unit tests of the cart: npm run unit now'].map(text =>
    fact(text),
  )
  assert.equal(recall(found(...same), [], context).length, 1)
})

test('no recall is larger than 1,200 tokens or eleven items, whatever was found', () => {
  const any = fc.record({
    kind: fc.constantFrom(...ITEM_KINDS),
    scope: fc.constantFrom(...MEMORY_SCOPES),
    text: fc.string({ minLength: 1, maxLength: 3_000 }).map(text => `cart tests ${text}`),
    tier: fc.constantFrom('hot' as const, 'cold' as const),
  })
  fc.assert(
    fc.property(fc.array(any, { maxLength: 60 }), given => {
      const shown = recall(found(...given.map(item)), given.map(item), { ...context, text: 'cart tests' })
      assert.ok(shown.length <= 11 && shown.reduce((sum, { tokens }) => sum + tokens, 0) <= 1_200)
      for (const { text, source, tokens } of shown) assert.ok(tokens * 4 >= text.length + source.length)
    }),
    { numRuns: 40 },
  )
})

test('of each class and each scope only so many are shown, however short they are', () => {
  const names =
    'apple bread cloud dwarf eagle flame grape house island jungle knife lemon mango night ocean piano'.split(' ')
  const short = (fields: Partial<MemoryItem>) => names.map(name => item({ text: `cart ${name} ${name}s`, ...fields }))
  const shown = (fields: Partial<MemoryItem>) =>
    recall(found(...short(fields)), [], { ...context, text: 'cart' }).length
  assert.deepEqual(
    ITEM_KINDS.map(kind => shown({ kind, type: kind === 'fact' ? 'convention' : 'command', alpha: 3 })),
    [3, 3, 3, 2],
  )
  const mixed = ITEM_KINDS.flatMap(kind => short({ kind, scope: 'global', alpha: 3 })).map((each, n) => ({
    ...each,
    text: `cart ${names[n % 16]} ${n}x`,
  }))
  assert.equal(recall(found(...mixed), [], { ...context, text: 'cart' }).length, 3, 'of what is for all projects')
})

test('many long items of every class share 1,200 tokens', () => {
  const words =
    'apple bread cloud dwarf eagle flame grape house island jungle knife lemon mango night ocean piano'.split(' ')
  const long = words.map((word, n) =>
    item({ kind: ITEM_KINDS[n % 4] ?? 'fact', text: `cart tests ${`${word} `.repeat(100)}` }),
  )
  const shown = recall(found(...long), [], { ...context, text: 'cart tests' })
  const tokens = shown.reduce((sum, each) => sum + each.tokens, 0)
  assert.ok(shown.length >= 5 && tokens <= 1_200, `${shown.length} items, ${tokens} tokens`)
})

test('a question that names a day, a month or a year means that time', () => {
  const day = Date.UTC(2026, 4, 8, 12)
  for (const text of ['on 2026-05-08', 'in May 2026', 'on 8 May', 'on May 8', 'in 2026'])
    assert.ok(readDate(text)?.(day), text)
  for (const text of ['on 2026-05-09', 'in June 2026', 'on 9 May', 'in 2025'])
    assert.ok(readDate(text)?.(day) === false, text)
  for (const text of ['may I go', 'version 2', 'what failed']) assert.equal(readDate(text), undefined, text)
})

test('of two equal matches the proven one comes first, and the speaker that the question names', () => {
  const [weak, strong] = [item({ alpha: 0.4, beta: 3 }), item()]
  const even = [weak, strong].map(each => ({ item: each, score: 1 }))
  assert.equal(rankItems(even, { query: 'x', now: NOW, policy: {} })[0]?.item.id, strong.id)
  const turns = ['Ann: I like tea very much', 'Bob: I like tea very much'].map(text => ({
    item: item({ kind: 'episode', text }),
    score: 1,
  }))
  assert.match(rankItems(turns, { query: 'what does Bob like?', now: NOW, policy: {} })[0]?.item.text ?? '', /^Bob/)
})

const turn = (text: string, n: number) =>
  newRecord({
    ...{ kind: 'episode', scope: 'project', of: 'git-a', actor: 'daemon', authority: 'gate', time: n, session: 's-1' },
    ...{
      event_type: 'turn',
      tool: null,
      inputs_hash: '',
      context: text,
      decision: '',
      action: '',
      fix: null,
      rationale: '',
    },
  })

test('an episode is found by what was said beside it, until that is forgotten', t => {
  const file = new MemoryFile(join(tempDir(t), 'memory.db'))
  t.after(() => file.close())
  const search = () => file.find({ reader: agentReader(), text: 'marathon' })
  const texts = () =>
    search()
      .map(({ item }) => item.text)
      .toSorted()
  file.apply([turn('Ann: I ran the marathon', 1)])
  file.apply([turn('Bob: How was it?', 2), turn('Ann: My knee hurt badly', 3), turn('Bob: Sorry to hear that', 4)])
  assert.deepEqual(texts(), ['Ann: I ran the marathon', 'Ann: My knee hurt badly', 'Bob: How was it?'])
  file.apply([{ ...turn('Eve: A secret marathon', 5), acl: { roles: ['reviewer'], shared_at: null } }])
  file.apply([turn('Ann: Good night', 6)])
  assert.equal(texts().length, 3, 'what other readers see is nobody’s surroundings')
  const opener = search().find(({ item }) => item.text.includes('marathon'))
  file.removeItem(opener?.item.id ?? '')
  assert.deepEqual(texts(), [])
})

test('the turn that answers a question is found far more often than by plain BM25', t => {
  const conversation = makeConversation(21, 12)
  const [ours] = measureOurs(conversation, tempDir(t))
  const plain = measurePlain(conversation)
  assert.ok(
    ours && ours.questions >= 20 && ours.at5 >= 1.3 * plain.at5 && ours.at5 >= 0.5,
    JSON.stringify({ ours, plain }),
  )
})

test('what did not work is shown for some months after it was seen last, and not while it works as often', () => {
  const wrong = (fields: Partial<MemoryItem>) => {
    const found = item({
      ...{ kind: 'anti_pattern', type: 'failure', text: 'The cart cannot be built with make.', action: null },
      ...{ alpha: 0.8, beta: 0.1, successes: 1, ...fields },
    })
    const context = { text: 'build the cart with make', now: NOW, policy: {} }
    return recall([{ item: found, score: 1 }], [], context).length
  }
  assert.equal(wrong({}), 1)
  assert.equal(wrong({ updated_at: NOW - 200 * DAY_MS }), 1)
  assert.equal(wrong({ updated_at: NOW - 300 * DAY_MS }), 0)
  assert.equal(wrong({ beta: 0.6 }), 0)
})
