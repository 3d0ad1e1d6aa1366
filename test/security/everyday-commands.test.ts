import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import { findProgram } from '../../src/base/process/find-program.ts'
import { openGuard } from '../../src/base/process/guardian.ts'
import { commandSandboxes } from '../../src/workspace/command/plan-sandbox.ts'
import { commandEnvironment, runCommand } from '../../src/workspace/command/run-command.ts'
import { configWith } from '../brain/sample.ts'
import { gitProject, tempDir } from '../support/world.ts'
import { GIT } from './everyday/git-rows.ts'
import { PACKAGES } from './everyday/package-rows.ts'
import { aPerson, makeProject, type Person } from './everyday/person.ts'
import { DOCKER, SHELL } from './everyday/shell-rows.ts'
import type { Row } from './everyday/table.ts'

/** How many rows must have been run wherever there are only Node, npm, git and the usual tools of a shell. */
const FEWEST = 60

const ran: string[] = []
const missing: string[] = []

for (const group of [...GIT, ...PACKAGES, ...SHELL]) {
  test(`in the sandbox, everyday work does not notice it: ${group.name}`, async t => {
    const person = await aPerson(t, group.at)
    const { project, directory } = makeProject(t, group, person)
    const run = openRunner(person, { project, directory })
    for (const row of group.rows) {
      const reason = reasonNotToRun(row, person)
      if (reason !== undefined) {
        missing.push(`${row.name} (${reason})`)
        t.diagnostic(`not run, because ${reason}: ${row.name}`)
        continue
      }
      ran.push(row.name)
      await t.test(row.name, async () => {
        const { output, end, exit } = await run(row.run)
        assert.deepEqual([end, exit], ['exited', row.exit ?? 0], output)
        if (row.prints) assert.match(output, row.prints)
        if (row.never) assert.doesNotMatch(output, row.never)
      })
    }
  })
}

test(`at least ${FEWEST} everyday commands were run`, t => {
  t.diagnostic(`${ran.length} rows were run, ${missing.length} were not: ${missing.join('; ') || 'none'}`)
  assert.ok(ran.length >= FEWEST, `${ran.length} rows`)
})

test('the commands of one verification find their caches again, and those of another project do not', async t => {
  const person = await aPerson(t)
  const [one, other] = [gitProject(t), gitProject(t)].map(project =>
    openRunner(person, { project, directory: project }),
  )
  const look = 'cat ~/.cache/thing ~/.npm/thing'
  await one?.('echo mine | tee ~/.cache/thing > ~/.npm/thing')
  assert.equal((await one?.(look))?.output, 'mine\nmine\n')
  assert.match((await other?.(look))?.output ?? '', /No such file[\s\S]*No such file/)
})

test('a socket of Docker that the person made writable is used, and one in the network too', async t => {
  const person = await aPerson(t)
  const project = gitProject(t, { 'docker.mjs': DOCKER })
  const socket = join(tempDir(t), 'docker.sock')
  const server = createServer(connection => connection.end()).listen(socket)
  t.after(() => server.close())
  await once(server, 'listening')
  const env = { ...person.env, DOCKER_HOST: `unix://${socket}` }
  const run = (allowed: string[]) =>
    openRunner({ ...person, env }, { project, directory: project, allowed })('node docker.mjs')
  assert.match((await run([])).output, /Cannot connect.*sandbox/)
  assert.match((await run([socket])).output, /^connected/)
  const remote = { ...person.env, DOCKER_HOST: 'tcp://build.example.invalid:2375' }
  const { output } = await openRunner(
    { ...person, env: remote },
    { project, directory: project },
  )('test "$DOCKER_HOST" = tcp://build.example.invalid:2375 && echo stays')
  assert.match(output, /stays/)
})

interface Where {
  project: string
  directory: string
  /** `agents.sandbox_write` */
  allowed?: string[]
}

/** Runs commands as gates are run. A command that cannot be run in a sandbox is not run. */
function openRunner({ home, env }: Person, { project, directory, allowed = [] }: Where) {
  const paths = appPathsFor({ env: { PCC_HOME: join(home, 'pcc') } })
  const config = configWith({ 'agents.sandbox': 'required', 'agents.sandbox_write': allowed })
  const sandbox = commandSandboxes(config, { project, paths, log: () => undefined })
  const passed = commandEnvironment(env, ['GH_TOKEN', 'OUTSIDE', 'DOCKER_HOST'])
  return (command: string) =>
    runCommand(
      { command, directory, env: passed, timeoutMs: 120_000, signal: new AbortController().signal },
      { guard: openGuard(), sandbox },
    )
}

function reasonNotToRun({ needs = [], notAsRoot }: Row, { env }: Person): string | undefined {
  const absent = needs.find(name => !isThere(name, env))
  if (absent !== undefined) return `${absent} is missing`
  return notAsRoot && process.getuid?.() === 0 ? 'it refuses to run as root' : undefined
}

/** A name with a colon is a module of Python. */
function isThere(name: string, env: Record<string, string>): boolean {
  const [language, module] = name.split(':')
  if (module === undefined) return findProgram(name, env) !== undefined
  return spawnSync(language ?? '', ['-c', `import ${module}`], { env, stdio: 'ignore' }).status === 0
}
