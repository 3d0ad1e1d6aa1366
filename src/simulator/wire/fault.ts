import { unreachable } from '../../base/errors.ts'
import type { Fault } from '../scenario/fault-schema.ts'
import type { ErrorFault } from './wire.ts'

/** An answer that breaks off, and after how many events. */
export interface Flaw {
  shows: 'flaw'
  flaw: 'reset' | 'stall' | 'cut' | 'malformed' | 'error'
  after: number
  type?: string
  message?: string
}

/** How a fault shows: an error instead of the answer, a flaw in the middle of it, or an answer with nothing in it. */
export type FaultReply = { shows: 'error'; fault: ErrorFault } | { shows: 'nothing'; stop_reason: string } | Flaw

/** How a fault shows, whatever the wire. */
export function faultReply(fault: Fault): FaultReply {
  switch (fault.kind) {
    case 'limit':
    case 'rate_limit':
    case 'overloaded':
    case 'server_error':
    case 'unauthorized':
    case 'forbidden':
    case 'model_not_found':
    case 'credit_too_low':
    case 'prompt_too_long':
    case 'http':
      return { shows: 'error', fault }
    case 'refusal':
      return { shows: 'nothing', stop_reason: 'refusal' }
    case 'reset':
      return { shows: 'flaw', flaw: 'reset', after: 0 }
    case 'stall':
      return { shows: 'flaw', flaw: 'stall', after: fault.after ?? 0 }
    case 'cut_stream':
      return { shows: 'flaw', flaw: 'cut', after: fault.after }
    case 'malformed_event':
      return { shows: 'flaw', flaw: 'malformed', after: fault.after }
    case 'error_event': {
      const { after, type, message = 'Overloaded' } = fault
      return { shows: 'flaw', flaw: 'error', after, type, message }
    }
    default:
      return unreachable(fault)
  }
}
