import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { type EmbeddingProvider, openEmbedder, readProviders } from '../../src/brain/embedder.ts'
import { defaultValues, nestValues, type Values } from '../../src/domain/config/settings.ts'

const KEY = 'fake-key-0123456789'
const DOCUMENT = { purpose: 'document' } as const

interface Heard {
  path: string
  headers: NodeJS.Dict<string | string[]>
  body: unknown
}

/** A server that answers every request for embeddings in one vendor's format, and remembers it. A `status` makes it refuse. */
async function openServer(t: TestContext, reply: (texts: string[]) => unknown, texts: (body: never) => string[]) {
  const heard: Heard[] = []
  const state: { status: number } = { status: 200 }
  const server = createServer(async (request, response) => {
    const body = await json(request)
    heard.push({ path: request.url ?? '', headers: request.headers, body })
    response.writeHead(state.status, { 'content-type': 'application/json' })
    response.end(
      JSON.stringify(state.status === 200 ? reply(texts(body as never)) : { error: { message: `no, ${KEY}` } }),
    )
  }).listen(0, '127.0.0.1')
  await new Promise(resolve => server.once('listening', resolve))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, heard, state }
}

const vectorOf = (text: string) => [text.length, 1]

async function openVendors(t: TestContext) {
  const ollama = await openServer(
    t,
    texts => ({
      ...{ model: 'nomic-embed-text', embeddings: texts.map(vectorOf) },
      ...{ total_duration: 1, load_duration: 1, prompt_eval_count: 1 },
    }),
    ({ input }: { input: string | string[] }) => [input].flat(),
  )
  const gemini = await openServer(
    t,
    texts => ({
      embeddings: texts.map(text => ({ values: vectorOf(text) })),
      embedding: { values: vectorOf(texts[0] ?? '') },
    }),
    (body: { requests?: { content: { parts: { text: string }[] } }[]; content?: { parts: { text: string }[] } }) =>
      (body.requests ?? [{ content: body.content ?? { parts: [] } }]).map(
        ({ content }) => content.parts[0]?.text ?? '',
      ),
  )
  const compatible = await openServer(
    t,
    texts => ({
      data: texts.map((text, index) => ({ index, embedding: vectorOf(text) })),
      usage: { prompt_tokens: 1 },
    }),
    ({ input }: { input: string[] }) => input,
  )
  const providers: Record<EmbeddingProvider['kind'], EmbeddingProvider> = {
    ollama: { kind: 'ollama', host: ollama.url, model: 'nomic-embed-text' },
    gemini: { kind: 'gemini', key: KEY, baseUrl: `${gemini.url}/v1beta`, model: 'gemini-embedding-001' },
    'openai-compatible': { kind: 'openai-compatible', baseUrl: `${compatible.url}/v1`, key: KEY, model: 'embed-small' },
  }
  return { ollama, gemini, compatible, providers }
}

test('every provider embeds several texts, in their order', async t => {
  const { providers, ollama, gemini, compatible } = await openVendors(t)
  for (const provider of Object.values(providers)) {
    const prefix = provider.kind === 'ollama' ? 'search_document: '.length : 0
    const made = await openEmbedder([provider]).embed(['one', 'three'], DOCUMENT)
    assert.deepEqual(made, {
      model: `${provider.kind} ${provider.model}`,
      vectors: [
        [3 + prefix, 1],
        [5 + prefix, 1],
      ],
    })
  }
  assert.equal(gemini.heard[0]?.headers['x-goog-api-key'], KEY)
  assert.equal(compatible.heard[0]?.headers['authorization'], `Bearer ${KEY}`)
  assert.match(ollama.heard[0]?.path ?? '', /^\/api\/embed/)
})

test('the local provider comes first, the API when it is not there, and an index that has vectors of one asks no other', async t => {
  const { providers, gemini } = await openVendors(t)
  const gone: EmbeddingProvider = { kind: 'ollama', host: 'http://127.0.0.1:1', model: 'nomic-embed-text' }
  const first = await openEmbedder([providers.ollama, providers.gemini]).embed(['x'], DOCUMENT)
  assert.equal('model' in first && first.model, 'ollama nomic-embed-text')
  assert.equal(gemini.heard.length, 0)
  const hybrid = openEmbedder([gone, providers.gemini])
  const second = await hybrid.embed(['x'], DOCUMENT)
  assert.equal('model' in second && second.model, 'gemini gemini-embedding-001')
  const bound = await hybrid.embed(['x'], { ...DOCUMENT, model: 'ollama nomic-embed-text' })
  assert.match('problem' in bound ? bound.problem : '', /^ollama nomic-embed-text: /)
  const removed = await hybrid.embed(['x'], { ...DOCUMENT, model: 'gemini other' })
  assert.deepEqual(removed, { problem: 'gemini other is not set up any more' })
})

test('a refusal is a value, without the key', async t => {
  const { providers, compatible } = await openVendors(t)
  compatible.state.status = 401
  const made = await openEmbedder([providers['openai-compatible']]).embed(['x'], DOCUMENT)
  assert.ok('problem' in made && made.problem.length > 0 && !made.problem.includes(KEY), JSON.stringify(made))
  assert.deepEqual(await openEmbedder([]).embed(['x'], DOCUMENT), { problem: 'no provider of embeddings is set up' })
})

/** What is asked under these settings: address, model and key of each provider; or why nobody is. */
function providersWith(settings: Partial<Values>, env: Record<string, string> = {}) {
  const found = readProviders(nestValues({ ...defaultValues(), ...settings }), env)
  if ('problem' in found) return found.problem
  return found.providers.map(each => [
    'host' in each ? each.host : each.baseUrl,
    each.model,
    ...('key' in each ? [each.key] : []),
  ])
}

test('the settings say who embeds, with which model, where and with which key', () => {
  const ollama = ['http://localhost:11434', 'nomic-embed-text']
  assert.deepEqual(providersWith({}), [ollama])
  assert.deepEqual(providersWith({ 'knowledge.local_model': 'bge-m3', 'brain.ollama.host': 'http://gpu:1' }), [
    ['http://gpu:1', 'bge-m3'],
  ])
  assert.match(String(providersWith({ 'knowledge.embedding_provider': 'none' })), /is "none"/)
  const gemini = { 'knowledge.embedding_provider': 'gemini', 'brain.gemini.base_url': 'http://g' } as const
  assert.match(String(providersWith(gemini)), /Gemini has no key/)
  const key = { 'brain.gemini.api_key': 'env:G' }
  assert.deepEqual(providersWith({ ...gemini, ...key, 'knowledge.gemini_model': 'm2' }, { G: KEY }), [
    ['http://g', 'm2', KEY],
  ])
  const server = {
    'knowledge.openai_compatible.base_url': 'http://o/v1',
    'knowledge.openai_compatible.model': 'small',
  }
  const compatible = { 'knowledge.embedding_provider': 'openai-compatible' } as const
  assert.match(String(providersWith(compatible)), /has no base_url or no model/)
  assert.deepEqual(providersWith({ ...compatible, ...server }), [['http://o/v1', 'small', undefined]])
  const all = { ...gemini, ...key, ...server, 'knowledge.openai_compatible.api_key': 'K' }
  const hybrid = providersWith({ ...all, 'knowledge.embedding_provider': 'hybrid' }, { G: KEY })
  assert.deepEqual(hybrid, [ollama, ['http://g', 'gemini-embedding-001', KEY], ['http://o/v1', 'small', 'K']])
  assert.deepEqual(
    providersWith({ 'knowledge.embedding_provider': 'hybrid' }),
    [ollama],
    'what is not set up is left out',
  )
})
