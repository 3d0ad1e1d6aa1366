import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * What lets the agent of one session call the tools of that session and nothing else: its id with a seal that only the holder of the
 * daemon's own token can make. Nothing is stored, and a restart changes nothing.
 */
export function capabilityOf(session: string, token: string): string {
  return `${session}.${sealOf(session, token)}`
}

/** The session that a capability is for; undefined where it is none of ours. */
export function sessionOfCapability(given: string, token: string): string | undefined {
  const [session = '', seal = ''] = given.split('.')
  const right = Buffer.from(sealOf(session, token))
  const told = Buffer.from(seal)
  return session !== '' && told.length === right.length && timingSafeEqual(told, right) ? session : undefined
}

function sealOf(session: string, token: string): string {
  return createHmac('sha256', token).update(`tools of ${session}`).digest('base64url')
}
