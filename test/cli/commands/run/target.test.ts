import assert from 'node:assert/strict'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { resolveTarget } from '../../../../src/cli/commands/run/start-run.ts'
import type { DaemonConnection } from '../../../../src/cli/connection/connection.ts'
import { RemoteError } from '../../../../src/cli/errors.ts'
import { tempDir } from '../../../support/world.ts'

/** A daemon that knows one task and one feature. */
const CLIENT: DaemonConnection = {
  async request<T>(_method: string, path: string): Promise<T> {
    if (/^\/tasks\?.*feature=(garden|abc)&/.test(path)) return { tasks: [{ id: 't-abc123' }] } as T
    if (path.startsWith('/tasks?')) return { tasks: [] } as T
    if (/^\/tasks\/(t-|.*%23)(abc|de|isbn)/.test(path))
      return { task: { id: 't-abc123', project: '/nowhere/shop' } } as T
    throw new RemoteError({ error: { code: 'task_not_there', message: 'no such task', next: '' } })
  },
  async *stream() {},
}

test('a target is resolved to a project, a feature or a task', async t => {
  const project = tempDir(t)
  mkdirSync(join(project, 'garden'))
  const resolveName = (name: string) => resolveTarget(name, { project, client: CLIENT })
  assert.deepEqual(await resolveName(project), { project, target: { kind: 'project' } }, 'a path is a project')
  assert.deepEqual(await resolveName('.'), { project: process.cwd(), target: { kind: 'project' } })
  const feature = { project, target: { kind: 'feature', name: 'garden' } }
  assert.deepEqual(await resolveName('garden'), feature, 'a feature comes before a directory of the same name')
  const task = { project: '/nowhere/shop', target: { kind: 'task', id: 't-abc123' } }
  assert.deepEqual(await resolveName('t-abc'), task, 'a task brings its project along')
  assert.deepEqual(await resolveName('de12'), task, 'the beginning of an id may come without t-')
  assert.deepEqual((await resolveName('abc')).target, { kind: 'feature', name: 'abc' }, 'unless it is a feature')
  assert.deepEqual(await resolveName('isbn'), task, 'its id in the file from which it was imported')
})

test('an unknown target is refused before anything is started', async t => {
  const project = tempDir(t)
  const assertRefused = (name: string, code: string) =>
    assert.rejects(resolveTarget(name, { project, client: CLIENT }), { code }, name)
  await assertRefused('moon', 'run_target_unknown')
  await assertRefused('ffff', 'run_target_unknown')
  await assertRefused('t-ffff', 'task_not_there')
  await assertRefused('./moon', 'project_missing')
  await assertRefused(import.meta.filename, 'project_not_directory')
})
