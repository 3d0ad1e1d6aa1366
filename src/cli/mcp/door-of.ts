import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import * as z from 'zod'
import { AppError, messageOf } from '../../base/errors.ts'
import { openClient } from '../client.ts'
import { sessionPath } from '../connection/session-path.ts'
import type { Context } from '../context.ts'
import type { Door } from './call-daemon.ts'

/** The variable by which an agent that somebody starts by themselves is given its capability. */
const VARIABLE = 'PCC_TOOLS'

const Seat = z.object({ socket: z.string(), token: z.string() })

/** Where an agent that pcc has started finds the tools of its session. */
export async function doorIn(folder: string): Promise<Door> {
  try {
    const { socket, token } = Seat.parse(JSON.parse(await readFile(join(folder, 'tools.json'), 'utf8')))
    return { socket, capability: token }
  } catch (error) {
    throw new AppError('no_tools', { problem: `${folder} is none of a session at work (${messageOf(error)})` }, error)
  }
}

/** Where they are for whoever is given a capability, or asks for one at their own terminal. */
export async function doorOf(session: string | undefined, context: Context): Promise<Door> {
  const capability = session === undefined ? context.env[VARIABLE] : await capabilityFor(session, context)
  if (!capability) throw new AppError('no_tools', { problem: `neither --session nor ${VARIABLE} names one` })
  return { socket: context.places.socket, capability }
}

/** A person at their own terminal may look at the tools of any session. */
async function capabilityFor(session: string, context: Context): Promise<string> {
  const client = await openClient(context.places, context)
  const path = `${await sessionPath(session)}/capability`
  return (await client.request<{ capability: string }>('POST', path, {})).capability
}
