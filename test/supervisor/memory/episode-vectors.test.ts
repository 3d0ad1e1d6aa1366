import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { appPathsFor } from '../../../src/base/app-paths.ts'
import { silentLog } from '../../../src/base/log.ts'
import { openSecrets } from '../../../src/domain/config/open-secrets.ts'
import { type MemoryRecord, type NewRecord, newRecord } from '../../../src/domain/memory.ts'
import { forget } from '../../../src/memory/forget.ts'
import { openClassifier } from '../../../src/policy/classify/classify.ts'
import { loadRules } from '../../../src/policy/verdict/load-rules.ts'
import { openStore } from '../../../src/store/open.ts'
import { startCodeSearch } from '../../../src/supervisor/knowledge/code-search.ts'
import { readEmbedding } from '../../../src/supervisor/knowledge/embedding.ts'
import { openProjectMemory } from '../../../src/supervisor/memory/project-memory.ts'
import { openSupervisorMemory } from '../../../src/supervisor/memory/supervisor-memory.ts'
import { gitProject, tempDir } from '../../support/world.ts'
import { openEmbeddingModel } from '../knowledge/embedding-model.ts'

const classifier = openClassifier()
after(() => classifier[Symbol.dispose]())

const RULES = '[[rules]]\neffect = "deny"\ntool = "Read"\nmatch = "./private/*"\n'

/** A project with episodes, and a provider of vectors on loopback that knows three meanings. */
async function world(t: TestContext, settings: Record<string, string> = {}) {
  const model = await openEmbeddingModel(t, [/deploy|ship/i, /invoice|bill/i, /weather/i])
  const home = tempDir(t)
  const project = gitProject(t, { 'private/bill.ts': 'x', '.perpetualcc/rules.toml': RULES })
  const env = { HOME: home, PCC_HOME: join(home, 'pcc'), PCC_BRAIN_OLLAMA_HOST: model.url, ...settings }
  const paths = appPathsFor({ env })
  const policy = { classify: classifier.classify, loadRules }
  const embeddingFor = (project: string) =>
    readEmbedding(project, { paths, env, policy, secrets: openSecrets({ paths, env }) })
  const code = startCodeSearch({ data: tempDir(t) }, { embeddingFor })
  const memory = openProjectMemory(paths, Date.now, { embed: code.embed })
  t.after(() => {
    code[Symbol.dispose]()
    memory[Symbol.dispose]()
  })
  const [of] = await memory.keysOf(project)
  const episode = (context: string, fields: Partial<NewRecord> = {}): MemoryRecord =>
    newRecord({
      ...{ kind: 'episode', scope: 'project', of, actor: 'daemon', authority: 'gate', time: Date.now() },
      ...{ event_type: 'command', tool: 'Bash', inputs_hash: '', context, decision: '', action: '' },
      ...{ fix: null, rationale: '', ...fields },
    } as NewRecord)
  const write = (...records: MemoryRecord[]) => {
    memory.write(records)
    memory.broker.catchUp()
  }
  const recall = async (text: string, near = true) =>
    (await memory.recall({ project, text, near })).map(each => each.text)
  return { ...{ model, home, project, env, paths, code, memory, episode, write, recall } }
}

const sentTo = ({ heard }: Awaited<ReturnType<typeof openEmbeddingModel>>) => heard.flatMap(({ texts }) => texts)

test('an episode is found by its meaning, under the rules and the readers that it has, and words alone decide without a provider', async t => {
  const { model, project, memory, episode, write, recall } = await world(t)
  const shipped = episode('The ship script needs a tag, key ghp_0123456789abcdefghij')
  const other = episode('ship it from elsewhere', { of: 'git-other' })
  const closed = episode('ship for reviewers', { acl: { roles: ['reviewer'], shared_at: null } })
  write(
    shipped,
    other,
    closed,
    episode('private/bill.ts holds bills'),
    episode('ship it, says a page', { authority: 'external' }),
  )
  assert.deepEqual(await recall('deploy everything'), [], 'nothing is embedded yet')
  assert.equal(sentTo(model).length, 0, 'and nobody is asked')
  assert.equal(await memory.embed(project), false)
  const sent = sentTo(model)
  assert.deepEqual(sent.length, 2, sent.join('\n'))
  assert.ok(sent.every(text => text.startsWith('search_document: ') && !/ghp_0123|private|page|elsewhere/.test(text)))
  const found = await recall('deploy everything')
  assert.deepEqual(found.length, 1)
  assert.match(found[0] ?? '', /^The ship script needs a tag/)
  assert.deepEqual(await recall('deploy everything', false), [], 'without vectors')
  assert.deepEqual(await recall('read the mail'), [], 'silent where nothing is near')
  await memory.embed(project)
  assert.equal(sentTo(model).filter(text => text.startsWith('search_document')).length, 2, 'nothing is sent twice')
  model.state.dies = 0
  assert.deepEqual(await recall('deploy everything'), [], 'the provider is gone')
  assert.equal((await recall('script for the tag')).length, 1, 'words still find')
})

test('what is forgotten or reworded has no vector, and another model makes them all anew', async t => {
  const { model, project, memory, episode, write } = await world(t)
  const rows = () =>
    memory.broker.inspect(({ file }) => file.rows<{ rowid: number }>('select rowid from vectors').length)
  const [first, second] = [episode('ship one'), episode('ship two')]
  write(first, second)
  await memory.embed(project)
  assert.equal(rows(), 2)
  forget(memory.broker, [first.id])
  assert.equal(rows(), 1)
  memory.broker.exclusive(({ file }) => file.transaction(() => file.writeMeta('vector_model', 'ollama older')))
  write(episode('ship three'))
  await memory.embed(project)
  assert.equal(rows(), 1, 'those of the older model are gone')
  await memory.embed(project)
  assert.deepEqual([rows(), sentTo(model).length], [2, 4])
})

test('memory.vectors: only a person switches vectors on, and the file of a project may switch them off', async t => {
  const { project, env, paths, code, memory, episode, write, home } = await world(t)
  write(episode('The ship script needs a tag'))
  await memory.embed(project)
  const store = await openStore({ file: join(home, 'db') })
  t.after(() => store[Symbol.asyncDispose]())
  const own = { ...env, PCC_MEMORY_HOLDOUT_SHARE: '0' }
  const ask = async () => {
    await using service = openSupervisorMemory({ paths, env: own, store, log: silentLog, embed: code.embed })
    return await service.recall(project, 'deploy everything', { agent: 'claude', session: 's-1' })
  }
  assert.equal(await ask(), undefined)
  writeFileSync(join(project, '.perpetualcc.toml'), '[memory]\nvectors = true\n')
  assert.equal(await ask(), undefined, 'a project cannot')
  mkdirSync(paths.home, { recursive: true })
  writeFileSync(paths.configFile, '[memory]\nvectors = true\n')
  assert.match((await ask()) ?? '', /The ship script needs a tag/)
  writeFileSync(join(project, '.perpetualcc.toml'), '[memory]\nvectors = false\n')
  assert.equal(await ask(), undefined)
})
