import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Embedder } from '../../../src/domain/embedder.ts'
import { fuseRanks } from '../../../src/knowledge/index/vectors.ts'
import { gitProject } from '../../support/world.ts'
import { anIndex, write } from './an-index.ts'

const PATIENT = { freshMs: 60_000 }

/** A model that knows three meanings, each with words that have no letters in common. It fails after so many texts. */
function aModel({ fails = Number.POSITIVE_INFINITY, name = 'three-meanings' } = {}) {
  const MEANINGS = [/throttl|rate limit/i, /greet|hello/i, /invoice|bill/i]
  const seen: string[] = []
  const state = { fails, seen }
  const embedder: Embedder = {
    models: [name],
    embed: async (texts, { model }) => {
      if (seen.length + texts.length > state.fails) return { problem: 'the provider is gone' }
      if (model !== undefined && model !== name) return { problem: `there is no ${model}` }
      seen.push(...texts)
      return { model: name, vectors: texts.map(text => [...MEANINGS.map(words => (words.test(text) ? 1 : 0)), 0.1]) }
    },
  }
  return { state, embedder }
}

const FILES = {
  'a.ts': '// rate limit of calls\nexport const bucket = 10\n',
  'b.ts': '// hello to everybody\nexport const wave = 1\n',
  'c.ts': '// bill of a customer\nexport const total = 1\n',
}

test('with embeddings a question in other words than the code finds it, and without them the answer says that there are none', async t => {
  const root = gitProject(t, FILES)
  const { embedder } = aModel()
  const index = anIndex(t, root)
  await index.update()
  assert.deepEqual(await index.embed({ embedder }), { embedded: 3, missing: 0 })
  const { results, wordsAlone } = await index.search('where do we throttle', { ...PATIENT, embedder })
  assert.equal(results[0]?.file_path, 'a.ts')
  assert.match(results[0]?.chunk_text ?? '', /bucket/)
  assert.equal(wordsAlone, undefined)

  const plain = await index.search('bucket', PATIENT)
  assert.equal(plain.results[0]?.file_path, 'a.ts')
  assert.equal(plain.wordsAlone, 'no provider of embeddings is set up')
  const said = [true, true, false, true].map(isTrue => index.sayOnce('words alone', isTrue))
  assert.deepEqual(said, [true, false, false, true])
})

test('a provider that dies half-way keeps what it made, the search works, and the next call goes on from there', async t => {
  const files = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`f${n}.ts`, `// rate limit number ${n}\n`]))
  const root = gitProject(t, files)
  const { state, embedder } = aModel({ fails: 40 })
  const index = anIndex(t, root)
  await index.update()
  assert.deepEqual(await index.embed({ embedder }), { embedded: 32, missing: 18, problem: 'the provider is gone' })
  const { results, wordsAlone } = await index.search('limit number 7', { ...PATIENT, embedder })
  assert.equal(results[0]?.file_path, 'f7.ts')
  assert.equal(wordsAlone, 'the code is not embedded yet')
  state.fails = Number.POSITIVE_INFINITY
  assert.deepEqual(await index.embed({ embedder }), { embedded: 18, missing: 0 })
  assert.equal(
    new Set(state.seen).size,
    state.seen.filter(text => text.startsWith('f')).length,
    'no text is embedded twice',
  )
})

test('only chunks with a new text are embedded again, and a text that came back costs nothing', async t => {
  const root = gitProject(t, FILES)
  const { state, embedder } = aModel()
  const index = anIndex(t, root)
  await index.update()
  await index.embed({ embedder })
  write(root, 'a.ts', '// hello instead\n')
  await index.update()
  await index.embed({ embedder })
  write(root, 'a.ts', FILES['a.ts'])
  await index.update()
  assert.deepEqual(await index.embed({ embedder }), { embedded: 0, missing: 0 })
  assert.equal(state.seen.length, 4)
})

test('a provider that answers nonsense leaves the search to words', async t => {
  const root = gitProject(t, FILES)
  const embedder: Embedder = { models: ['x'], embed: async () => ({ model: 'x', vectors: [[1], [1, 2]] }) }
  const index = anIndex(t, root)
  await index.update()
  assert.match((await index.embed({ embedder }))?.problem ?? '', /other vectors/)
  assert.equal((await index.search('bucket', PATIENT)).results[0]?.file_path, 'a.ts')
})

test('another model than before embeds everything again, and what may not be sent is not', async t => {
  const root = gitProject(t, FILES)
  const index = anIndex(t, root)
  await index.update()
  await index.embed(aModel())
  const { state, embedder } = aModel({ name: 'other' })
  assert.deepEqual(await index.embed({ embedder, mayEmbed: path => path !== 'c.ts' }), { embedded: 2, missing: 0 })
  assert.doesNotMatch(state.seen.join('\n'), /bill of/)
  const { results, wordsAlone } = await index.search('where do we throttle', { ...PATIENT, embedder })
  assert.deepEqual([results[0]?.file_path, wordsAlone], ['a.ts', undefined])
})

test('two rankings are joined by their ranks', () => {
  const joined = [
    ...fuseRanks([
      [1, 2, 3],
      [3, 4],
    ]),
  ]
    .sort((a, b) => b[1] - a[1])
    .map(([id]) => id)
  assert.deepEqual(joined, [3, 1, 2, 4])
})
