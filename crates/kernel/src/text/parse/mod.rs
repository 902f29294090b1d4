//! Parsing. The first finding ends it.
//!
//! Names of values are unique in a function; whether a definition is seen where it is used is the
//! verifier's question, not the parser's.

mod op;
mod statement;

use std::collections::HashMap;

use rxla_base::{Diagnostic, Span};

use super::lexer::{Token, TokenKind, lex};
use crate::ir::{Block, Function, FunctionId, Linkage, Module, Parameter, Value};
use crate::types::{Scalar, Type};

type Result<T> = std::result::Result<T, Diagnostic>;

/// Reads a module. It is as well formed as text can make it; [`crate::verify`] says whether it
/// means something.
pub fn parse(text: &str) -> Result<Module> {
    let mut parser = Parser {
        text,
        token: lex(text, 0),
        functions: HashMap::new(),
        function: empty_function(),
        values: HashMap::new(),
        depth: 0,
    };
    parser.declare_functions()?;
    let mut module = Module::default();
    while parser.token.kind != TokenKind::End {
        parser.function()?;
        module.functions.push(std::mem::replace(&mut parser.function, empty_function()));
    }
    Ok(module)
}

/// Blocks deeper than this are refused, for readers of the IR recurse.
const MAX_DEPTH: usize = 200;

struct Parser<'a> {
    text: &'a str,
    token: Token,
    functions: HashMap<&'a str, FunctionId>,
    /// The function being read, and its values by name.
    function: Function,
    values: HashMap<&'a str, Value>,
    depth: usize,
}

fn empty_function() -> Function {
    Function {
        name: String::new(),
        linkage: Linkage::Kernel,
        parameters: Vec::new(),
        result: None,
        body: Block::default(),
        types: Vec::new(),
    }
}

impl<'a> Parser<'a> {
    /// Finds the names of all functions, so that calls may come before what they call.
    fn declare_functions(&mut self) -> Result<()> {
        let (mut at, mut depth) = (0, 0usize);
        let mut previous = TokenKind::End;
        loop {
            let token = lex(self.text, at);
            match token.kind {
                TokenKind::End => return Ok(()),
                TokenKind::LeftBrace => depth += 1,
                TokenKind::RightBrace => depth = depth.saturating_sub(1),
                TokenKind::Function if depth == 0 && previous == TokenKind::Word => {
                    let id = FunctionId(self.functions.len() as u32);
                    let name = &self.text[token.start + 1..token.end];
                    if self.functions.insert(name, id).is_some() {
                        return Err(error(
                            format!("two functions are named `{name}`"),
                            token.span(),
                        ));
                    }
                }
                _ => {}
            }
            previous = token.kind;
            at = token.end;
        }
    }

    fn function(&mut self) -> Result<()> {
        self.values.clear();
        let linkage = self.expect(TokenKind::Word)?;
        self.function.linkage = match self.slice(linkage) {
            "kernel" => Linkage::Kernel,
            "inline" => Linkage::Inline,
            other => {
                let message = format!("`{other}` starts no function; `kernel` and `inline` do");
                return Err(error(message, linkage.span()));
            }
        };
        let name = self.expect(TokenKind::Function)?;
        self.function.name = self.function_name(name)?.to_owned();
        self.expect(TokenKind::LeftParen)?;
        while self.token.kind != TokenKind::RightParen {
            let parameter = self.parameter()?;
            self.function.parameters.push(parameter);
            if !self.take(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightParen)?;
        if self.take(TokenKind::Arrow) {
            self.function.result = Some(self.ty()?);
        }
        self.function.body = self.block()?;
        Ok(())
    }

    fn parameter(&mut self) -> Result<Parameter> {
        let value = self.typed_definition()?;
        let noalias = self.take_word("noalias");
        let align = if self.take_word("align") { self.parenthesised()? } else { 1 };
        Ok(Parameter { value, noalias, align })
    }

    fn block(&mut self) -> Result<Block> {
        let open = self.expect(TokenKind::LeftBrace)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(error(format!("blocks are nested deeper than {MAX_DEPTH}"), open.span()));
        }
        let mut block = Block::default();
        loop {
            if self.take(TokenKind::RightBrace) {
                break;
            }
            if self.take_word("yield") {
                block.yields = self.operands()?;
                self.expect(TokenKind::RightBrace)?;
                break;
            }
            let statement = self.statement()?;
            block.statements.push(statement);
        }
        self.depth -= 1;
        Ok(block)
    }

    // The rest: tokens and names.

    fn slice(&self, token: Token) -> &'a str {
        &self.text[token.start..token.end]
    }

    fn advance(&mut self) -> Token {
        let token = self.token;
        self.token = lex(self.text, token.end);
        token
    }

    fn take(&mut self, kind: TokenKind) -> bool {
        let found = self.token.kind == kind;
        if found {
            self.advance();
        }
        found
    }

    fn at_word(&self, word: &str) -> bool {
        self.token.kind == TokenKind::Word && self.slice(self.token) == word
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind) -> Result<Token> {
        if self.token.kind == kind {
            Ok(self.advance())
        } else {
            Err(self.unexpected(kind.describe()))
        }
    }

    fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) { Ok(()) } else { Err(self.unexpected(&format!("`{word}`"))) }
    }

    fn unexpected(&self, wanted: &str) -> Diagnostic {
        let found = match self.token.kind {
            TokenKind::Word | TokenKind::Value | TokenKind::Function | TokenKind::Number => {
                format!("`{}`", self.slice(self.token))
            }
            other => other.describe().to_owned(),
        };
        error(format!("expected {wanted}, found {found}"), self.token.span())
    }

    /// The name in an `@name` token.
    fn function_name(&self, token: Token) -> Result<&'a str> {
        let name = &self.text[token.start + 1..token.end];
        if name.is_empty() {
            return Err(error("a function needs a name after `@`", token.span()));
        }
        Ok(name)
    }

    /// `(integer)`.
    fn parenthesised(&mut self) -> Result<u32> {
        self.expect(TokenKind::LeftParen)?;
        let number = self.integer()?;
        self.expect(TokenKind::RightParen)?;
        Ok(number)
    }

    fn integer<T: std::str::FromStr>(&mut self) -> Result<T> {
        let token = self.expect(TokenKind::Number)?;
        let text = self.slice(token);
        text.parse()
            .map_err(|_| error(format!("`{text}` is no integer in range here"), token.span()))
    }

    fn ty(&mut self) -> Result<Type> {
        let token = self.expect(TokenKind::Word)?;
        let text = self.slice(token);
        let unknown = || error(format!("`{text}` is no type"), token.span());
        let (name, lanes) = text.split_once('x').unwrap_or((text, "1"));
        let scalar = Scalar::ALL.into_iter().find(|scalar| scalar.name() == name);
        let lanes: u16 = lanes.parse().map_err(|_| unknown())?;
        if lanes == 0 {
            return Err(unknown());
        }
        Ok(scalar.ok_or_else(unknown)?.vector(lanes))
    }

    /// Reads a name in a place that defines it.
    fn definition(&mut self) -> Result<Token> {
        let token = self.expect(TokenKind::Value)?;
        if token.end == token.start + 1 {
            return Err(error("a value needs a name after `%`", token.span()));
        }
        Ok(token)
    }

    /// `%name: type`.
    fn typed_definition(&mut self) -> Result<Value> {
        let token = self.definition()?;
        self.expect(TokenKind::Colon)?;
        let ty = self.ty()?;
        self.define(token, ty)
    }

    fn define(&mut self, token: Token, ty: Type) -> Result<Value> {
        let value = self.function.new_value(ty);
        if self.values.insert(self.slice(token), value).is_some() {
            let message = format!("`{}` is defined twice", self.slice(token));
            return Err(error(message, token.span()));
        }
        Ok(value)
    }

    fn operand(&mut self) -> Result<Value> {
        let token = self.expect(TokenKind::Value)?;
        let name = self.slice(token);
        self.values.get(name).copied().ok_or_else(|| {
            error(format!("`{name}` is not defined before this place"), token.span())
        })
    }

    fn operands(&mut self) -> Result<Vec<Value>> {
        let mut operands = vec![self.operand()?];
        while self.take(TokenKind::Comma) {
            operands.push(self.operand()?);
        }
        Ok(operands)
    }
}

fn error(message: impl Into<String>, span: Span) -> Diagnostic {
    Diagnostic::error(message).at(span)
}
