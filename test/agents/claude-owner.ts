import { openDriver } from '../../src/agents/open.ts'
import { claudeAgent } from '../../src/domain/agents/claude.ts'
import type { OpenSession } from '../../src/domain/session.ts'
import { allowing } from './conformance/world.ts'

// A session owner for a test to kill: opens the session given as JSON, allows everything, and lives as long as the agent.

const options = JSON.parse(process.argv[2] ?? '{}') as Omit<OpenSession, 'asks'>
const driver = await openDriver(claudeAgent, {})
const session = await driver.open({ ...options, asks: allowing() })
for await (const event of session.events) process.stdout.write(`${event.kind}\n`)
