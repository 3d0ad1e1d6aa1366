import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { appPathsFor } from '../../src/base/app-paths.ts'
import type { HookOutput } from '../../src/domain/hooks.ts'
import { answerInline } from '../../src/supervisor/hooks/answer-inline.ts'
import type { HookCaller } from '../../src/supervisor/hooks/router.ts'
import { PROJECT, readFixtures } from '../agents/hooks/fixtures.ts'
import { bareEnv, gitProject, tempDir } from '../support/world.ts'
import { startDaemon } from './daemon-process.ts'

/** Asks the daemon as hooks do: the process that asks becomes a vendor's for the daemon, which the one of the tests must not be. */
const ASKER = `
const { request } = require('node:http')
let given = ''
process.stdin.on('data', chunk => (given += chunk)).on('end', async () => {
  const { socket, token, questions } = JSON.parse(given)
  const replies = []
  for (const { path, caller, stdin } of questions)
    replies.push(await new Promise((resolve, reject) => {
      const headers = { authorization: 'Bearer ' + token, 'content-type': 'application/json', 'x-pcc-caller': caller }
      const sent = request({ socketPath: socket, method: 'POST', path, headers }, reply => {
        let body = ''
        reply.on('data', chunk => (body += chunk)).on('end', () => resolve(JSON.parse(body)))
      })
      sent.on('error', reject).end(stdin)
    }))
  process.stdout.write(JSON.stringify(replies))
})
`

test('every recorded event gets the same answer from the daemon and from a hook without one', async t => {
  const daemon = await startDaemon(t)
  const project = realpathSync(gitProject(t))
  const other = realpathSync(tempDir(t))
  const fixtures = readFixtures().map(({ name, vendor, native, stdin }, at) => ({
    ...{ name, vendor, native },
    stdin: JSON.stringify(stdin).replaceAll(`"${PROJECT}`, `"${project}`),
    // Each is a conversation of its own, so that none is answered by what another left behind.
    session: `00000000-0000-0000-0000-${String(at).padStart(12, '0')}`,
  }))
  const inSession = (body: string, session: string) => body.replaceAll('00000000-0000-0000-0000-000000000000', session)
  const callerOf = (home: string, id: string): HookCaller => ({
    ...{ id, ppid: process.pid, folder: project, env: { HOME: home, PCC_HOME: join(home, 'pcc') } },
  })

  const questions = fixtures.map(({ vendor, native, stdin, session }) => ({
    path: `/hooks/${vendor}/${native}`,
    caller: encodeURIComponent(JSON.stringify(callerOf(daemon.home, `daemon-${session}`))),
    stdin: inSession(stdin, session),
  }))
  const asker = spawn(process.execPath, ['-e', ASKER], { env: bareEnv(other), stdio: ['pipe', 'pipe', 'inherit'] })
  const { socket, tokenFile } = daemon.paths
  asker.stdin.end(JSON.stringify({ socket, token: readFileSync(tokenFile, 'utf8').trim(), questions }))
  const answers = JSON.parse(await text(asker.stdout)) as HookOutput[]

  const paths = appPathsFor({ env: { HOME: other, PCC_HOME: join(other, 'pcc') } })
  for (const [at, { name, vendor, native, stdin, session }] of fixtures.entries()) {
    const caller = callerOf(other, `inline-${session}`)
    const bytes = Buffer.from(inSession(stdin, session))
    const inline = await answerInline({ vendor, native, stdin: bytes, caller, paths, withinMs: 30_000 })
    assert.deepEqual(answers[at], inline, name)
  }
  const said = answers.filter(({ stdout, exit }) => stdout !== '' || exit !== 0)
  assert.ok(said.length > fixtures.length / 4, 'many of them say something')
})
