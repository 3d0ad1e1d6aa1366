import { AppError } from '../../base/errors.ts'
import { vendorOf } from './vendors.ts'

/** An agent that is not logged in, with how its own vendor's login is made. */
export function notLoggedIn({ kind, name }: { kind: string; name: string }): AppError<'agent_not_logged_in'> {
  const { credentials, login } = vendorOf(kind)
  const variables = credentials.map(([variable]) => variable).join(' or ')
  return new AppError('agent_not_logged_in', {
    agent: name,
    login: login.command || 'the agent itself',
    variables: variables || 'the variable that it reads its key from, and name it in agents.env,',
  })
}
