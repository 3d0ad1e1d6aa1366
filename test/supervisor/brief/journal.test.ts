import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { NewEvent } from '../../../src/domain/event.ts'
import { openStore } from '../../../src/store/open.ts'
import type { AttemptRow } from '../../../src/store/tables.ts'
import { attemptStory } from '../../../src/supervisor/brief/journal.ts'
import { bareEnv, gitProject, tempDir } from '../../support/world.ts'
import { aLiveSession } from '../session/live-session.ts'

const { row: session } = aLiveSession()
const ATTEMPT: AttemptRow = {
  ...{ run_id: 'r-1', iteration: 1, task_id: 't-000001', number: 1, session_id: session.id, model: null },
  ...{ outcome: 'done', reason: null, result: null, next_model: null, failure: null, cost_usd: 0 },
  ...{ started_at: 0, ended_at: 1, rounds: 0 },
}

/** The story of an attempt whose session recorded these events. */
async function storyOf(t: TestContext, events: NewEvent[], { project = session.project, started_at = 0 } = {}) {
  const store = await openStore({ file: join(tempDir(t), 'db') })
  t.after(() => store.close())
  await store.append(events)
  const about = { attempt: { ...ATTEMPT, started_at }, session: { ...session, project } }
  const { columns } = await attemptStory(about, store)
  return { ...columns, files: JSON.parse(columns.files) }
}

const did = (tool: string, target: string, ok = true): NewEvent => {
  const body = { call_id: 'c', tool, target, ok, output: '' }
  return { actor: 'agent', subject: session.id, kind: 'tool.finished', body }
}
const said = (text: string, agent_id?: string): NewEvent => {
  const body = { text, ...(agent_id !== undefined && { agent_id }) }
  return { actor: 'agent', subject: session.id, kind: 'agent.said', body }
}

test('an attempt leaves the files that it wrote: no reads, no writes that failed, none of another session', async t => {
  const events = [
    did('Write', 'src/a.ts'),
    did('Edit', 'src/a.ts'),
    did('Edit', 'src/b.ts'),
    did('Write', 'src/refused.ts', false),
    did('Read', 'src/c.ts'),
    { ...did('Write', 'src/other.ts'), subject: 's-999999' },
  ]
  const { files, files_more } = await storyOf(t, events)
  assert.deepEqual([files, files_more], [['src/a.ts', 'src/b.ts'], 0])
})

test('files that a command changed in the project itself are found by git, from the beginning of the attempt', async t => {
  const project = gitProject(t, { 'old.txt': 'old\n', 'own.txt': 'own\n' })
  const made = ['own.txt', 'made.txt'].map(name => join(project, name))
  for (const file of made) writeFileSync(file, 'by a command\n')
  const started_at = Math.min(...made.map(file => statSync(file).ctimeMs))
  const { files } = await storyOf(t, [did('Bash', 'make')], { project, started_at })
  assert.deepEqual(files, ['made.txt', 'own.txt'])
})

test('what neighbours merged meanwhile is not among the files of an attempt, neither in its worktree nor after its merge', async t => {
  const project = gitProject(t, { 'first.txt': 'first\n' })
  const named = ['-c', 'user.name=Test', '-c', 'user.email=test@example.invalid']
  const git = (...args: string[]) =>
    execFileSync('git', [...named, ...args], { cwd: project, env: bareEnv(project), encoding: 'utf8' }).trim()
  const commit = (file: string) => {
    writeFileSync(join(project, file), file)
    git('add', '.')
    git('commit', '-qm', file)
    return git('rev-parse', 'HEAD')
  }
  const target = git('branch', '--show-current')
  const base = git('rev-parse', 'HEAD')
  git('checkout', '-qb', 'pcc/t-000001')
  const head = commit('own.txt')
  git('checkout', '-q', target)
  commit('of-a-neighbour.txt')
  git('checkout', '-q', 'pcc/t-000001')
  git('rebase', '-q', target)
  const result = git('rev-parse', 'HEAD')
  const place = {
    task: ATTEMPT.task_id,
    attempt: 1,
    branch: 'pcc/t-000001',
    target,
    base,
    top: project,
    directory: project,
  }
  const about = { attempt: ATTEMPT, session: { ...session, project, options: { ...session.options, place } } }
  const store = await openStore({ file: join(tempDir(t), 'db') })
  t.after(() => store.close())
  await store.append([did('Bash', 'make')])
  const row = {
    ...{ ...place, project, repository: project, state: 'live' as const },
    ...{ reason: null, archive: null, setup: null, created_at: 1, ended_at: null },
  }
  await store.transaction(tx => store.worktrees.put(row, tx))
  assert.deepEqual(JSON.parse((await attemptStory(about, store)).columns.files), ['own.txt'], 'rebased, not merged')
  git('checkout', '-q', target)
  git('merge', '-q', '--ff-only', result)
  await store.transaction(tx =>
    store.merges.insert(
      {
        ...{ task_id: place.task, attempt: 1, project, repository: project, branch: place.branch, target, base, head },
        ...{ result, strategy: 'rebase', state: 'merged', reason: null, batch: null, as_pull_request: 0, rounds: 0 },
        ...{ cleaned_at: null, created_at: 1, updated_at: 1 },
      },
      tx,
    ),
  )
  assert.deepEqual(JSON.parse((await attemptStory(about, store)).columns.files), ['own.txt'], 'merged')
})

test('its last words are the agent’s own, not those of a subagent, and all of a long session is read', async t => {
  const many = Array.from({ length: 600 }, (_, at) => said(`step ${at}`))
  const { notes, files } = await storyOf(t, [
    ...many,
    did('Write', 'late.ts'),
    said('All painted.'),
    said('Yes?', 'a-1'),
  ])
  assert.equal(notes, 'All painted.')
  assert.deepEqual(files, ['late.ts'])
})
