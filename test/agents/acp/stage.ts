import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type AcpDriverOptions, acpDriver } from '../../../src/agents/acp/driver.ts'
import { secretId } from '../../../src/base/ids.ts'
import type { AgentManifest } from '../../../src/domain/agent-manifest.ts'
import { claudeAcpAgent } from '../../../src/domain/agents/claude-acp.ts'
import type { OpenSession } from '../../../src/domain/session.ts'
import { bareEnv, tempDir } from '../../support/world.ts'
import { allowing, Talk } from '../conformance/world.ts'
import type { AgentScript } from './scripted-agent.ts'

const AGENT = fileURLToPath(new URL('scripted-agent.ts', import.meta.url))

/** A manifest with few demands, so that each test sets what it is about. */
export const PLAIN: AgentManifest = {
  ...claudeAcpAgent,
  start: {
    command: process.execPath,
    args: [AGENT],
    env: {},
    files: {},
    model: {},
    install: '',
    serves: { files: true, terminals: true },
  },
  hold: 'observed',
  modes: { known: [] },
  tools: { nameIn: 'name', known: {} },
  departs: {},
}

export interface StageOptions {
  manifest?: Partial<AgentManifest>
  driver?: AcpDriverOptions
  open?: Partial<OpenSession>
  /** The folder for the agent's log of messages, if it cannot write everywhere. */
  notes?: string
}

/** The messages that the agent got, from its own log. */
export interface Heard {
  id?: number
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown>
  error?: { code: number; message: string }
}

/** A session with the scripted agent, and the messages that it got. */
export async function stage(t: TestContext, script: AgentScript, options: StageOptions = {}) {
  const cwd = tempDir(t, 'pcc-project-')
  const notes = options.notes ?? join(tempDir(t), 'heard.jsonl')
  const manifest = { ...PLAIN, ...options.manifest }
  const driver = acpDriver(manifest, options.driver)
  const marker = secretId(12)
  const session = await driver.open({
    id: 's-000001',
    cwd,
    prompt: 'go',
    env: { ...bareEnv(tempDir(t, 'pcc-home-')), ACP_SCRIPT: JSON.stringify(script), ACP_HEARD: notes },
    asks: allowing(),
    settingSources: [],
    isolation: 'marker',
    marker,
    ...options.open,
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
  /** The answers to the agent's requests, in order. */
  const replies = () => heard().filter(one => one.method === undefined)
  return { cwd, talk, session, heard, replies }
}
