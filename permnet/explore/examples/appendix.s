	.intel_syntax noprefix
	.text
	.globl	appendix
	.type	appendix, @function
appendix:
	push	rbp
	mov	rbp, rsp
	sub	rsp, 32
	mov	QWORD PTR -24[rbp], rdi
	mov	QWORD PTR -8[rbp], 1
	cmp	QWORD PTR -24[rbp], 87
	je	.L2
	cmp	QWORD PTR -24[rbp], 87
	jg	.L3
	cmp	QWORD PTR -24[rbp], -30
	je	.L4
	cmp	QWORD PTR -24[rbp], -30
	jg	.L3
	cmp	QWORD PTR -24[rbp], -46
	je	.L5
	cmp	QWORD PTR -24[rbp], -46
	jg	.L3
	cmp	QWORD PTR -24[rbp], -62
	je	.L6
	cmp	QWORD PTR -24[rbp], -62
	jg	.L3
	cmp	QWORD PTR -24[rbp], -72
	je	.L7
	cmp	QWORD PTR -24[rbp], -66
	je	.L8
	jmp	.L3
.L6:
	mov	rax, QWORD PTR -24[rbp]
	mov	rdi, rax
	call	g2@PLT
	mov	QWORD PTR -8[rbp], rax
	jmp	.L3
.L5:
	add	QWORD PTR -8[rbp], 46
	jmp	.L3
.L4:
	mov	rax, QWORD PTR -24[rbp]
	sub	QWORD PTR -8[rbp], rax
	jmp	.L3
.L2:
	mov	edi, 87
	call	h1@PLT
	mov	QWORD PTR -8[rbp], 7
	jmp	.L3
.L7:
	mov	rax, QWORD PTR -8[rbp]
	imul	rax, QWORD PTR -24[rbp]
	mov	QWORD PTR -8[rbp], rax
	jmp	.L3
.L8:
	xor	QWORD PTR -8[rbp], 5
	nop
.L3:
	mov	rax, QWORD PTR -8[rbp]
	leave
	ret
	.size	appendix, .-appendix
	.section	.note.GNU-stack,"",@progbits
