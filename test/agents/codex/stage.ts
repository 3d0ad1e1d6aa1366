import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type CodexDriverOptions, codexDriver } from '../../../src/agents/codex/driver.ts'
import { secretId } from '../../../src/base/ids.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { allowing, Talk } from '../conformance/world.ts'
import type { CodexScript } from './scripted-codex.ts'

const AGENT = fileURLToPath(new URL('scripted-codex.ts', import.meta.url))

interface Heard {
  id?: number
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

/** A session with the scripted Codex, and the messages that it got. */
export async function stage(
  t: TestContext,
  script: CodexScript,
  { driver, open }: { driver?: CodexDriverOptions; open?: Partial<OpenSession> } = {},
) {
  const cwd = tempDir(t, 'pcc-project-')
  const home = tempDir(t, 'pcc-home-')
  const notes = join(tempDir(t), 'heard.jsonl')
  const marker = secretId(12)
  const codex = codexDriver({ command: [process.execPath, AGENT], ...driver })
  const session = await codex.open({
    id: 's-000001',
    cwd,
    prompt: 'go',
    env: { ...bareEnv(home), CODEX_SCRIPT: JSON.stringify(script), CODEX_HEARD: notes },
    asks: allowing(),
    settingSources: [],
    isolation: 'marker',
    marker,
    ...open,
  })
  const talk = new Talk(session, marker)
  t.after(() => talk.close())
  const heard = (): Heard[] =>
    existsSync(notes)
      ? readFileSync(notes, 'utf8')
          .split('\n')
          .filter(Boolean)
          .map(line => JSON.parse(line) as Heard)
      : []
  /** The answers to its requests, in order. */
  const replies = () => heard().filter(one => one.method === undefined)
  return { cwd, home, talk, session, heard, replies }
}
