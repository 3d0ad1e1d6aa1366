import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { openSecrets } from '../../../src/domain/config/open-secrets.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { loadRules } from '../../../src/policy/verdict/load-rules.ts'
import { startCodeSearch, type UpdateReply } from '../../../src/supervisor/knowledge/code-search.ts'
import { readEmbedding } from '../../../src/supervisor/knowledge/embedding.ts'
import { type Ending, gitProject, tempDir } from '../../support/world.ts'
import { openEmbeddingModel } from './embedding-model.ts'

const FILES = {
  'src/bucket.ts': '// rate limit of calls\nexport const bucket = 10\n',
  'src/wave.ts': '// hello to everybody\nexport const wave = 1\n',
  'private/bill.ts': '// bill of a customer, ghp_0123456789abcdefghij\nexport const total = 1\n',
  ...Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`more/f${n}.ts`, `export const number${n} = ${n}\n`])),
}
const KEY = 'fake-key-0123456789'
const MEANINGS = [/throttl|rate limit/i, /greet|hello/i, /invoice|bill/i]
const openModel = (t: Ending) => openEmbeddingModel(t, MEANINGS)

const classifier = openClassifier()
after(() => classifier[Symbol.dispose]())

/** The code of a project, searched as the daemon does it under these settings of the person. */
function codeWith(t: TestContext, env: Record<string, string>) {
  const home = tempDir(t)
  const paths = appPathsFor({ env: { HOME: home, PCC_HOME: join(home, '.perpetualcc') } })
  const policy = { classify: classifier.classify, loadRules }
  const settings = { HOME: home, ...env }
  const secrets = openSecrets({ paths, env: settings })
  const embeddingFor = (project: string) => readEmbedding(project, { paths, env: settings, policy, secrets })
  const code = startCodeSearch({ data: tempDir(t) }, { embeddingFor })
  t.after(() => code[Symbol.dispose]())
  return { code, embeddingFor }
}

/** Updates, each of which waits for the embedding for a while, until one replies what is wanted. */
async function updateUntil(
  code: ReturnType<typeof codeWith>['code'],
  project: string,
  isWanted: (reply: UpdateReply) => boolean,
): Promise<UpdateReply> {
  for (;;) {
    const reply = await code.update(project, { counted: true })
    if (reply && isWanted(reply)) return reply
  }
}

const isComplete = ({ counts }: UpdateReply) => (counts?.embedded ?? 0) >= 63

test('a provider that dies half-way loses nothing, its end is said once, and when it is back a question in other words finds the code', async t => {
  const model = await openModel(t)
  const { code } = codeWith(t, { PCC_BRAIN_OLLAMA_HOST: model.url })
  const project = gitProject(t, FILES)
  model.state.dies = 40
  const half = await updateUntil(code, project, ({ note }) => note !== undefined)
  assert.equal(half.counts?.embedded, 32)
  assert.match(half.note ?? '', /^Searches go by words alone.* \(ollama nomic-embed-text: .+\)\./)
  const ask = () => code.search(project, { query: 'where do we throttle', explained: true })
  const before = await ask()
  assert.deepEqual([before.results.length, before.note], [0, undefined], 'it was said')
  model.state.dies = Number.POSITIVE_INFINITY
  const all = await updateUntil(code, project, isComplete)
  assert.equal(all.note, undefined)
  const sent = model.heard.flatMap(({ texts }) => texts)
  assert.equal(new Set(sent).size, sent.length, 'no text is sent twice')
  assert.ok(sent.every(text => text.startsWith('search_document: ') && !text.includes('ghp_0123456789')))
  const { results, note } = await ask()
  assert.deepEqual([results[0]?.file_path, note], ['src/bucket.ts', undefined])
  assert.deepEqual(model.heard.at(-1)?.texts, ['search_query: where do we throttle'])
})

test('without a provider the first answer says that words alone decide, and later ones do not', async t => {
  const { code } = codeWith(t, { PCC_KNOWLEDGE_EMBEDDING_PROVIDER: 'none' })
  const project = gitProject(t, FILES)
  await code.update(project)
  const notes: (string | undefined)[] = []
  for (const explained of [false, true, true])
    notes.push((await code.search(project, { query: 'bucket', explained })).note)
  assert.deepEqual([notes[0], notes[2]], [undefined, undefined], 'agents are not told, and a person once')
  assert.match(notes[1] ?? '', /^Searches go by words alone.* \(knowledge\.embedding_provider is "none"\)\./)
})

test('a key reaches only the server that it is for, in no argument and no variable, and what a rule keeps from agents is not sent', async t => {
  const model = await openModel(t)
  const { code } = codeWith(t, {
    PCC_KNOWLEDGE_EMBEDDING_PROVIDER: 'openai-compatible',
    PCC_KNOWLEDGE_OPENAI_COMPATIBLE_BASE_URL: `${model.url}/v1`,
    PCC_KNOWLEDGE_OPENAI_COMPATIBLE_MODEL: 'embed-small',
    PCC_KNOWLEDGE_OPENAI_COMPATIBLE_API_KEY: 'env:THE_KEY',
    THE_KEY: KEY,
  })
  const project = gitProject(t, { ...FILES, '.perpetualcc/rules.toml': RULES })
  await updateUntil(code, project, isComplete)
  assert.deepEqual([...new Set(model.heard.map(({ path, key }) => `${path} ${key}`))], [`/v1/embeddings Bearer ${KEY}`])
  assert.doesNotMatch(model.heard.flatMap(({ texts }) => texts).join('\n'), /bill of a customer/)
  for (const file of ['cmdline', 'environ'])
    assert.ok(!readFileSync(`/proc/${code.pid}/${file}`, 'utf8').includes(KEY), file)
})

const RULES = '[[rules]]\neffect = "deny"\ntool = "Read"\nmatch = "./private/*"\n'

test('the file of a project can switch embeddings off, and cannot choose who gets its code', async t => {
  const settings = {
    PCC_BRAIN_GEMINI_API_KEY: KEY,
    PCC_BRAIN_OLLAMA_HOST: 'http://127.0.0.1:1',
  }
  const { embeddingFor } = codeWith(t, settings)
  const project = gitProject(t)
  const write = (text: string) => writeFileSync(join(project, '.perpetualcc.toml'), text)
  const local = { kind: 'ollama', host: 'http://127.0.0.1:1', model: 'nomic-embed-text' }
  write('[brain.ollama]\nhost = "http://evil.example:1"\n[knowledge]\nembedding_provider = "gemini"\n')
  const found = await embeddingFor(project)
  assert.deepEqual('providers' in found && found.providers, [local])
  for (const line of ['local_model = "x"', 'openai_compatible.base_url = "http://evil.example:1"']) {
    write(`[knowledge]\n${line}\n`)
    const refused = await embeddingFor(project)
    assert.match('problem' in refused ? refused.problem : '', /a project file may not set this/)
  }
  write('[knowledge]\nembedding_provider = "none"\n')
  assert.ok('problem' in (await embeddingFor(project)))
})
