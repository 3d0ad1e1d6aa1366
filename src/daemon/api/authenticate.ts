import { hostname } from 'node:os'
import type { FastifyRequest } from 'fastify'
import { AppError } from '../../base/errors.ts'
import { type ApiKey, type Caller, mayUse, type Scope } from '../../domain/access.ts'
import { readBearer } from '../routes/guard.ts'
import type { JwtVerifier } from './jwt.ts'
import type { ApiKeys } from './keys.ts'

export interface AuthenticatorDeps {
  keys: Pick<ApiKeys, 'verify'>
  verifyJwt: JwtVerifier
  /** The name of this machine. */
  system?: string
}

export interface Authenticator {
  /** Who sends this request. Throws if nobody says so, or the caller's key does not count here. */
  authenticate(request: Pick<FastifyRequest, 'headers'>): Caller | Promise<Caller>
}

/** Finds out who calls by `Authorization: Bearer`, and by nothing else: no cookie, no part of the address. */
export function openAuthenticator({ keys, verifyJwt, system = hostname() }: AuthenticatorDeps): Authenticator {
  return {
    authenticate(request) {
      const given = readBearer(request)
      if (given === undefined || given === '') throw new AppError('key_missing', {})
      if (JWT.test(given)) return verifyJwt(given).then(refuseElsewhere)
      const key = keys.verify(given)
      return key instanceof Promise ? key.then(callerOfKey).then(refuseElsewhere) : refuseElsewhere(callerOfKey(key))
    },
  }

  function refuseElsewhere(caller: Caller): Caller {
    const { name, system: only } = caller
    if (only !== null && only !== system) throw new AppError('key_elsewhere', { name, system: only, here: system })
    return caller
  }
}

function callerOfKey({ name, scope, project, system }: ApiKey): Caller {
  return { name, via: 'key', scope, project, system }
}

/** A key of ours has no dots. The length is bounded before anything is decoded. */
const JWT = /^[\w-]{1,1000}\.[\w-]{1,6000}\.[\w-]{0,1000}$/

/** Throws if the caller may not do what needs this scope. */
export function requireScope(caller: Caller, needed: Scope): void {
  if (!mayUse(caller, needed)) throw new AppError('scope_needed', { needed, name: caller.name, scope: caller.scope })
}
