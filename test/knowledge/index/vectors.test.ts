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

test('with embeddings a question in other words than the code finds it, and without them the answer says once that there are none', async t => {
  const root = gitProject(t, FILES)
  const { embedder } = aModel()
  const index = anIndex(t, root, { embedder })
  await index.update()
  assert.deepEqual(await index.embed(), { embedded: 3, missing: 0 })
  const { results, note } = await index.search('where do we throttle', PATIENT)
  assert.equal(results[0]?.file_path, 'a.ts')
  assert.match(results[0]?.chunk_text ?? '', /bucket/)
  assert.equal(note, undefined)

  const plain = anIndex(t, root)
  const first = await plain.search('bucket', PATIENT)
  assert.equal(first.results[0]?.file_path, 'a.ts')
  assert.match(first.note ?? '', /Words alone decided: no provider of embeddings is set up/)
  assert.equal((await plain.search('bucket', PATIENT)).note, undefined)
})

test('a provider that dies half-way keeps what it made, the search works, and the next call goes on from there', async t => {
  const files = Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`f${n}.ts`, `// rate limit number ${n}\n`]))
  const root = gitProject(t, files)
  const { state, embedder } = aModel({ fails: 40 })
  const index = anIndex(t, root, { embedder })
  await index.update()
  assert.deepEqual(await index.embed(), { embedded: 32, missing: 18, problem: 'the provider is gone' })
  const { results, note } = await index.search('limit number 7', PATIENT)
  assert.equal(results[0]?.file_path, 'f7.ts')
  assert.match(note ?? '', /not embedded yet/)
  state.fails = Number.POSITIVE_INFINITY
  assert.deepEqual(await index.embed(), { embedded: 18, missing: 0 })
  assert.equal(
    new Set(state.seen).size,
    state.seen.filter(text => text.startsWith('f')).length,
    'no text is embedded twice',
  )
})

test('only chunks with a new text are embedded again, and a text that came back costs nothing', async t => {
  const root = gitProject(t, FILES)
  const { state, embedder } = aModel()
  const index = anIndex(t, root, { embedder })
  await index.update()
  await index.embed()
  write(root, 'a.ts', '// hello instead\n')
  await index.update()
  await index.embed()
  write(root, 'a.ts', FILES['a.ts'])
  await index.update()
  assert.deepEqual(await index.embed(), { embedded: 0, missing: 0 })
  assert.equal(state.seen.length, 4)
})

test('a provider that answers nonsense, or has another model now, leaves the search to words', async t => {
  const root = gitProject(t, FILES)
  const nonsense: Embedder = { embed: async () => ({ model: 'x', vectors: [[1], [1, 2]] }) }
  const index = anIndex(t, root, { embedder: nonsense })
  await index.update()
  assert.match((await index.embed())?.problem ?? '', /other vectors/)
  assert.equal((await index.search('bucket', PATIENT)).results[0]?.file_path, 'a.ts')
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
