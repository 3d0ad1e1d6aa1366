import { RequestError } from '@agentclientprotocol/sdk'

const NOT_ALLOWED = -32001

/** An answer that says no, with the reason for the agent. */
export function refused(reason: string): RequestError {
  return new RequestError(NOT_ALLOWED, reason)
}

/** A request that cannot be understood. */
export function misunderstood(problem: string): RequestError {
  return RequestError.invalidParams(undefined, problem)
}
